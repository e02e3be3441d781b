#include "controller/cli/program.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string_view>

#include "common/base/lower_case.h"
#include "common/net/http_client/client.h"
#include "controller/cli/absent.h"
#include "controller/cli/apply.h"
#include "controller/cli/ca.h"
#include "controller/cli/check_version.h"
#include "controller/cli/command/confirm_undo.h"
#include "controller/cli/command/send_command.h"
#include "controller/cli/companion.h"
#include "controller/cli/completion.h"
#include "controller/cli/controller_seen.h"
#include "controller/cli/delete.h"
#include "controller/cli/doctor/observe/cluster.h"
#include "controller/cli/doctor/observe/host.h"
#include "controller/cli/doctor/report.h"
#include "controller/cli/host/manifest_reports.h"
#include "controller/cli/host_view.h"
#include "controller/cli/import_files.h"
#include "controller/cli/input/files.h"
#include "controller/cli/input/lint.h"
#include "controller/cli/logs/logs.h"
#include "controller/cli/parse_options.h"
#include "controller/cli/profile.h"
#include "controller/cli/select.h"
#include "controller/cli/set_version.h"
#include "controller/cli/show.h"
#include "controller/cli/show_console.h"
#include "controller/cli/status.h"
#include "controller/cli/text/color.h"
#include "controller/cli/validate.h"
#include "controller/store/local/manifest_files.h"

namespace longshore::cli {
namespace {

constexpr std::chrono::minutes kCaPatience{1};
// A shell waits for its completion; a cluster that does not answer must not block the terminal.
constexpr unsigned kCompletionSecondsMax = 3;

Status Command(const Options& options, store::Store& store, const Clock& clock, std::ostream& out) {
  const api::Key key{api::kModelKind, options.namespace_, options.name};
  const bool asks = options.command.verb == "undo" && options.command.to == 0 && options.can_ask && !options.yes;
  command::CommandRequest request = options.command;
  if (asks) {
    ASSIGN_OR_RETURN(request.seen, command::ConfirmUndo(store, key, std::cin, out));
  }
  ASSIGN_OR_RETURN(const api::CommandAnswer answer, command::SendCommand(store, key, request, clock, options.timeout));
  if (answer.result != api::CommandResult::kDone) return FailedPrecondition("{}", ToString(answer));
  out << ToString(answer) << "\n";
  return {};
}

// A wait prints its progress as it happens, without colours.
Result<int> RunStatus(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  if (!options.has_colors || options.wait) return ShowStatus(options, place, clock, out);
  std::ostringstream plain;
  Result<int> code = ShowStatus(options, place, clock, plain);
  out << text::Colored(plain.str());
  return code;
}

Result<doctor::Findings> Examine(const Options& options, const Place& place, const Clock& clock) {
  const doctor::observe::Examination examination{
      .namespace_ = options.namespace_,
      .own_version = LONGSHORE_VERSION,
      .place = ArgumentsFor(options, place),
      .limit = options.timeout,
      .clock = clock,
      .on_slow = [](const std::string& what) { std::cerr << "still waiting for " << what << std::endl; }};
  if (place.cluster) return doctor::observe::ExamineCluster(examination, *place.cluster);
  ASSIGN_OR_RETURN(const std::optional<HostView> host, ReadHostView(options, place));
  return doctor::observe::ExamineHost(examination, *place.store, place.manifests, host ? host->seen : text::HostSeen{});
}

Result<int> RunDoctor(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const doctor::Findings findings, Examine(options, place, clock));
  if (options.output == Output::kJson) {
    out << DumpJson(doctor::ToJson(findings), 2) << "\n";
  } else {
    out << doctor::Text(findings, {.colors = options.has_colors, .unicode = options.has_unicode});
  }
  return doctor::HasFailed(findings) ? kExitFailed : kExitOk;
}

Result<int> RunEnsureCa(const Options& options, const MonotonicClock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const kube::Cluster cluster, ClusterOf(options));
  ASSIGN_OR_RETURN(const auto api, kube::Api::Make(cluster, {}, clock));
  const std::string& namespace_ = options.namespace_.empty() ? cluster.namespace_ : options.namespace_;
  ASSIGN_OR_RETURN(const std::string ensured, EnsureCa(*api, namespace_, options.secret, kCaPatience));
  out << ensured << "\n";
  return kExitOk;
}

// The objects of this host if the options or the environment name its directory of manifests. A lint needs none.
std::optional<input::HostObjects> ObjectsOfHost(const Options& options, const MonotonicClock& clock) {
  if (options.manifests.empty()) return std::nullopt;
  const auto place = OpenPlace(options, clock);
  if (!place) return std::nullopt;
  input::HostObjects host{.fleets = StoredFleets(*place->store), .models = StoredModels(*place->store)};
  for (const store::local::ManifestFile& file : store::local::ReadManifestFiles(place->manifests))
    host.defined.merge(host::KeysOf(file));
  return host;
}

Result<int> RunLint(const Options& options, const MonotonicClock& clock, std::ostream& out) {
  const auto folders = options.recursive ? input::Folders::kWithSubfolders : input::Folders::kFilesOnly;
  ASSIGN_OR_RETURN(const std::vector<input::File> files, input::ReadFiles(options.files, folders, std::cin));
  const input::Checked checked =
      input::Lint(files, {.namespace_ = options.namespace_.empty() ? "default" : options.namespace_,
                          .sources = options.skip_sources ? input::Sources::kSkip : input::Sources::kCheck,
                          .host = ObjectsOfHost(options, clock)});
  for (const std::string& problem : checked.problems) out << problem << "\n";
  for (const std::string& note : checked.notes) out << note << "\n";
  if (!checked.problems.empty()) return kExitFailed;
  const auto counted = [](size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  out << fmt::format("{} in {}: no problem\n", counted(checked.objects.size(), "object"),
                     counted(files.size(), "file"));
  return kExitOk;
}

// After a change: whether a controller takes it.
Status NoteAbsence(const Status& done, const Place& place, const Clock& clock, std::ostream& out) {
  if (done && !place.manifests.empty() && ControllerSight(place, clock).See({}).is_absent)
    out << "no controller is running: this has no effect until one runs\n";
  return done;
}

Result<int> OkAfter(const Status& done) {
  if (!done) return tl::make_unexpected(done.error());
  return kExitOk;
}

// Whether the locale's characters are UTF-8: the first of these variables that is set decides (locale(7)).
bool HasUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string locale = LowerCase(value);
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

// Sets what the options say about the terminal. A non-empty NO_COLOR (no-color.org) means no colours.
void LookAtTerminal(Options& options) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool is_plain = terminal == nullptr || std::string_view(terminal) == "dumb";
  options.is_terminal = isatty(STDOUT_FILENO) == 1;
  options.has_colors = options.is_terminal && !is_plain && (no_color == nullptr || *no_color == '\0');
  options.has_unicode = HasUtf8();
  options.can_ask = options.is_terminal && isatty(STDIN_FILENO) == 1;
}

Result<int> Do(Options options, std::ostream& out) {
  LookAtTerminal(options);
  const SteadyClock timer;
  if (options.verb == Verb::kImportTfServing || options.verb == Verb::kImportKserve)
    return OkAfter(Import(options, out, std::cerr));
  if (options.verb == Verb::kProfile) return OkAfter(RecordProfile(options.profile, out, std::cerr));
  if (options.verb == Verb::kCheckVersion) return tl::make_unexpected(CheckVersion(options));
  if (options.verb == Verb::kCompletion) {
    out << CompletionScript(options.name);
    return kExitOk;
  }
  if (options.verb == Verb::kLint) return RunLint(options, timer, out);
  if (options.verb == Verb::kEnsureCa) return RunEnsureCa(options, timer, out);
  ASSIGN_OR_RETURN(const Place place, OpenPlace(options, timer));
  return Run(options, place, SystemClock(), out);
}

// Ends the process without an answer if the cluster does not answer in time.
void PrintCompletion(int argc, char** argv) {
  alarm(kCompletionSecondsMax);
  const SteadyClock timer;
  std::cout << Complete(std::vector<std::string>(argv + 2, argv + argc),
                        [&](const Options& options) { return OpenPlace(options, timer); });
}

Result<int> Dispatch(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  store::Store& store = *place.store;
  switch (options.verb) {
    case Verb::kGet: return OkAfter(Get(options, place, clock, out));
    case Verb::kDescribe: return OkAfter(Describe(options, place, clock, out));
    case Verb::kExplain: return OkAfter(Explain(options, place, clock, out));
    case Verb::kStatus: return RunStatus(options, place, clock, out);
    case Verb::kApply:
      return OkAfter(options.dry_run ? Apply(options, place, clock, out)
                                     : NoteAbsence(Apply(options, place, clock, out), place, clock, out));
    case Verb::kDiff: return Diff(options, place, out);
    case Verb::kDelete: return OkAfter(Delete(options, place, std::cin, out));
    case Verb::kValidate: return Validate(options, store, clock, out);
    case Verb::kSetVersion: return OkAfter(NoteAbsence(SetVersion(options, place, out), place, clock, out));
    case Verb::kRollout: return ShowRollout(options, place, clock, out);
    case Verb::kDoctor: return RunDoctor(options, place, clock, out);
    case Verb::kEvents: return OkAfter(Events(options, place, clock, out));
    case Verb::kConsole: return OkAfter(ShowConsole(options, place, out));
    case Verb::kCommand: return OkAfter(Command(options, store, clock, out));
    case Verb::kLogs:
      return OkAfter(logs::PrintLogs({store, place.manifests, place.cluster},
                                     {options.logs.of, options.namespace_, options.logs.wanted}, clock, out));
    case Verb::kImportTfServing:
    case Verb::kImportKserve:
    case Verb::kProfile:
    case Verb::kCheckVersion:
    case Verb::kCompletion:
    case Verb::kLint:
    case Verb::kEnsureCa: break;  // The function Do executes these verbs, because they use no store.
  }
  return kExitOk;
}

}  // namespace

Result<int> Run(Options options, const Place& place, const Clock& clock, std::ostream& out) {
  if (options.namespace_.empty()) options.namespace_ = place.namespace_;
  Result<int> code = Dispatch(options, place, clock, out);
  if (!code && code.error().code == Code::kNotFound) code.error().message += ElsewhereText(options, place);
  return code;
}

int Main(int argc, char** argv) {
  if (const auto error = RunCompanion(argc, argv)) {
    std::cerr << "longshore: " << error->message << "\n";
    return kExitFailed;
  }
  http_client::Init();
  if (argc > 1 && std::string_view(argv[1]) == kCompleteCommand) {
    PrintCompletion(argc, argv);
    return kExitOk;
  }
  const auto options = ParseOptions(argc, argv);
  if (options && !*options) return kExitOk;
  const Result<int> code = options ? Do(**options, std::cout) : tl::make_unexpected(options.error());
  if (code) return *code;
  std::cerr << "longshore: " << code.error().message << "\n";
  return ExitCodeOf(code.error(), options ? (*options)->verb : Verb::kGet);
}

}  // namespace longshore::cli
