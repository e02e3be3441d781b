#include "serving-node/inspect/program.h"

#include <iostream>

#include "serving-node/engine/cpu/cpu.h"
#include "serving-node/inspect/check.h"
#include "serving-node/inspect/explain.h"
#include "serving-node/inspect/ops.h"
#include "serving-node/inspect/run.h"
#include "serving-node/inspect/show.h"
#include "serving-node/inspect/version.h"

namespace longshore::inspect {
namespace {

// Fails if not everything could be written, for example because the disk is full or the reader of a pipe has exited.
Status Finish(std::ostream& out) {
  out.flush();
  if (!out) return DataLoss("standard output could not be written; the printed text is not complete");
  return {};
}

Result<int> Show(const Options& options, const Path& version_dir, std::ostream& out) {
  ASSIGN_OR_RETURN(const Summary summary, Summarize(version_dir, options.tags));
  out << (options.json ? ToJson(summary).dump(2) + "\n" : ToText(summary));
  return kExitOk;
}

Result<int> Check(const Options& options, const Path& version_dir, std::ostream& out) {
  const auto engine = engine::cpu::MakeEngine();
  ASSIGN_OR_RETURN(const CheckResult result, CheckModel(*engine, version_dir, options.tags));
  out << ToText(result, options.ops);
  return result.is_supported() ? kExitOk : kExitFailed;
}

Result<int> Explain(const Options& options, const Path& version_dir, std::ostream& out) {
  const auto engine = engine::cpu::MakeEngine({.passes_off = options.passes_off});
  RETURN_IF_ERROR(ExplainSignature(*engine, version_dir, options, out));
  return kExitOk;
}

Result<int> RunModel(const Options& options, const Path& version_dir, std::ostream& out, std::ostream& notes) {
  const auto engine = engine::cpu::MakeEngine({.threads_per_run = options.threads, .passes_off = options.passes_off});
  RETURN_IF_ERROR(RunSignature(*engine, version_dir, options, out, notes));
  return kExitOk;
}

Result<int> Execute(const Options& options, std::ostream& out, std::ostream& notes) {
  if (options.verb == Verb::kOps) {
    out << (options.markdown ? OpsAsMarkdown() : OpsAsText());
    return kExitOk;
  }
  ASSIGN_OR_RETURN(const Path version_dir, FindVersion(options.dir));
  if (version_dir != options.dir)
    notes << options.dir.string() << ": using its newest version, " << version_dir.string() << "\n";
  switch (options.verb) {
    case Verb::kShow: return Show(options, version_dir, out);
    case Verb::kCheck: return Check(options, version_dir, out);
    case Verb::kExplain: return Explain(options, version_dir, out);
    case Verb::kRun: return RunModel(options, version_dir, out, notes);
    case Verb::kOps: break;
  }
  return kExitOk;
}

int Fail(const Error& error, int code) {
  std::cerr << "longshore model: " << error.message << "\n";
  return code;
}

}  // namespace

Result<int> Run(const std::optional<Options>& options, std::ostream& out, std::ostream& notes) {
  int code = kExitOk;
  if (options) {
    ASSIGN_OR_RETURN(code, Execute(*options, out, notes));
  }
  RETURN_IF_ERROR(Finish(out));
  return code;
}

int Main(int argc, char** argv) {
  const auto options = ParseOptions(argc, argv);
  if (!options) return Fail(options.error(), kExitUsage);
  const Result<int> code = Run(*options, std::cout, std::cerr);
  return code ? *code : Fail(code.error(), kExitFailed);
}

}  // namespace longshore::inspect
