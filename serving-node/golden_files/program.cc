#include "serving-node/golden_files/program.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "common/os/log.h"
#include "common/os/process/process.h"
#include "serving-node/golden_files/check.h"
#include "serving-node/golden_files/check_version.h"
#include "serving-node/golden_files/from_csv.h"
#include "serving-node/golden_files/from_log.h"
#include "serving-node/golden_files/from_model.h"
#include "serving-node/golden_files/show.h"
#include "serving-node/inspect/version.h"

namespace longshore::golden_files {
namespace {

// For the verbs that need no model.
Status ExecuteWithoutModel(const Options& options, std::ostream& out, std::ostream& notes) {
  return options.verb == Verb::kFromLog ? FromLog(options, out, notes) : Show(options, out, notes);
}

// A golden set that does not exist says nothing about the version.
Status CheckGoldenSetExists(const Path& file) {
  std::error_code ignored;
  if (file.empty() || std::filesystem::exists(file, ignored)) return {};
  return NotFound("golden set: {} does not exist", file.string());
}

int ExitCodeOf(const Error& error, Verb verb) {
  return verb == Verb::kCheckVersion && error.code == Code::kNotFound ? kExitNotFound : kExitFailed;
}

Result<int> Execute(const Options& options, std::ostream& out, std::ostream& notes) {
  if (options.verb == Verb::kFromLog || options.verb == Verb::kShow) {
    RETURN_IF_ERROR(ExecuteWithoutModel(options, out, notes));
    return kExitOk;
  }
  ASSIGN_OR_RETURN(const Path version_dir, inspect::FindVersion(options.dir));
  if (version_dir != options.dir)
    notes << options.dir.string() << ": using its newest version, " << version_dir.string() << "\n";
  switch (options.verb) {
    case Verb::kFromCsv: RETURN_IF_ERROR(FromCsv(options, version_dir, out, notes)); break;
    case Verb::kFromModel: RETURN_IF_ERROR(FromModel(options, version_dir, out, notes)); break;
    case Verb::kCheck: RETURN_IF_ERROR(Check(options, version_dir, out, notes)); break;
    case Verb::kCheckVersion:
      RETURN_IF_ERROR(CheckGoldenSetExists(options.version.validation.golden_set()));
      return CheckVersion(options, version_dir, out, notes);
    case Verb::kFromLog:
    case Verb::kShow: break;
  }
  return kExitOk;
}

int Execute(const Options& options, const char* verb) {
  spdlog::set_level(spdlog::level::warn);
  const Result<int> code = Run(options, std::cout, std::cerr);
  if (code) return *code;
  std::cerr << "longshore " << verb << ": " << code.error().message << "\n";
  return ExitCodeOf(code.error(), options.verb);
}

// A version may crash the process that loads it, as it may in a rehearsal. So a child process executes the command, and
// this one reports a crash. Call it before the process has other threads.
int ExecuteInChild(const Options& options, const char* verb) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(Execute(options, verb));
  }
  int state = 0;
  if (child < 0 || waitpid(child, &state, 0) != child) {
    std::cerr << "longshore " << verb << ": cannot start a process: " << strerror(errno) << "\n";
    return kExitFailed;
  }
  if (WIFEXITED(state)) return WEXITSTATUS(state);
  const process::Exit exit{.known = true, .code = 0, .signal = WTERMSIG(state)};
  const std::string why = "the process that ran the version " + ToString(exit);
  PrintCrash(options, inspect::FindVersion(options.dir).value_or(options.dir), why, std::cout);
  std::cerr << "longshore " << verb << ": " << why << "\n";
  return kExitFailed;
}

}  // namespace

bool IsCommand(std::string_view verb) { return verb == "golden" || verb == "check-version"; }

// Fails if not everything could be written, for example because the disk is full.
Result<int> Run(const Options& options, std::ostream& out, std::ostream& notes) {
  ASSIGN_OR_RETURN(const int code, Execute(options, out, notes));
  out.flush();
  if (!out) return DataLoss("standard output could not be written; the printed text is not complete");
  return code;
}

int Main(int argc, char** argv) {
  const auto options = ParseOptions(argc, argv);
  if (options && !*options) return kExitOk;
  if (options) return ExecuteInChild(**options, argv[1]);
  std::cerr << "longshore " << argv[1] << ": " << options.error().message << "\n";
  return kExitUsage;
}

}  // namespace longshore::golden_files
