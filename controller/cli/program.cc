#include "controller/cli/program.h"

#include <iostream>

#include "common/net/http_client/client.h"
#include "controller/cli/apply.h"
#include "controller/cli/ca.h"
#include "controller/cli/check_version.h"
#include "controller/cli/commands.h"
#include "controller/cli/companion.h"
#include "controller/cli/import_files.h"
#include "controller/cli/profile.h"
#include "controller/cli/send_command.h"
#include "controller/cli/show.h"
#include "controller/cli/status.h"
#include "controller/cli/validate.h"

namespace longshore::cli {
namespace {

constexpr std::chrono::minutes kCaPatience{1};

Status Delete(const Options& options, store::Store& store, std::ostream& out) {
  const api::Key key{options.kind, options.namespace_, options.name};
  RETURN_IF_ERROR(DeleteObject(store, key));
  out << api::ToString(key) << " deleted\n";
  return {};
}

Status Command(const Options& options, store::Store& store, const Clock& clock, std::ostream& out) {
  const api::Key key{api::kModelKind, options.namespace_, options.name};
  ASSIGN_OR_RETURN(const api::CommandAnswer answer, SendCommand(store, key, options.command, clock, options.timeout));
  if (answer.result != api::CommandResult::kDone) return FailedPrecondition("{}", ToString(answer));
  out << ToString(answer) << "\n";
  return {};
}

Result<int> RunEnsureCa(const Options& options, const MonotonicClock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const kube::Cluster cluster, ClusterOf(options));
  ASSIGN_OR_RETURN(const auto api, kube::Api::Make(cluster, {}, clock));
  const std::string& namespace_ = options.namespace_.empty() ? cluster.namespace_ : options.namespace_;
  ASSIGN_OR_RETURN(const std::string ensured, EnsureCa(*api, namespace_, options.secret, kCaPatience));
  out << ensured << "\n";
  return kExitOk;
}

Result<int> OkAfter(const Status& done) {
  if (!done) return tl::make_unexpected(done.error());
  return kExitOk;
}

Result<int> Do(const Options& options, std::ostream& out) {
  const SteadyClock timer;
  if (options.verb == Verb::kImportTfServing || options.verb == Verb::kImportKserve)
    return OkAfter(Import(options, out, std::cerr));
  if (options.verb == Verb::kProfile) return OkAfter(RecordProfile(options.profile, out, std::cerr));
  if (options.verb == Verb::kCheckVersion) return tl::make_unexpected(CheckVersion(options));
  if (options.verb == Verb::kEnsureCa) return RunEnsureCa(options, timer, out);
  ASSIGN_OR_RETURN(const Place place, OpenPlace(options, timer));
  return Run(options, place, SystemClock(), out);
}

}  // namespace

Result<int> Run(Options options, const Place& place, const Clock& clock, std::ostream& out) {
  if (options.namespace_.empty()) options.namespace_ = place.namespace_;
  store::Store& store = *place.store;
  switch (options.verb) {
    case Verb::kGet: return OkAfter(Get(options, place, clock, out));
    case Verb::kDescribe: return OkAfter(Describe(options, place, clock, out));
    case Verb::kExplain: return OkAfter(Explain(options, place, clock, out));
    case Verb::kStatus: return ShowStatus(options, place, clock, out);
    case Verb::kApply: return OkAfter(Apply(options, place, clock, out));
    case Verb::kDiff: return Diff(options, place, out);
    case Verb::kDelete: return OkAfter(Delete(options, store, out));
    case Verb::kValidate: return Validate(options, store, clock, out);
    case Verb::kCommand: return OkAfter(Command(options, store, clock, out));
    case Verb::kImportTfServing:
    case Verb::kImportKserve:
    case Verb::kProfile:
    case Verb::kCheckVersion:
    case Verb::kEnsureCa: break;  // The function Do executes these verbs, because they use no store.
  }
  return kExitOk;
}

int Main(int argc, char** argv) {
  if (const auto error = RunCompanion(argc, argv)) {
    std::cerr << "longshore: " << error->message << "\n";
    return kExitFailed;
  }
  http_client::Init();
  const auto options = ParseOptions(argc, argv);
  if (options && !*options) return kExitOk;
  const Result<int> code = options ? Do(**options, std::cout) : tl::make_unexpected(options.error());
  if (code) return *code;
  std::cerr << "longshore: " << code.error().message << "\n";
  return ExitCodeOf(code.error(), options ? (*options)->verb : Verb::kGet);
}

}  // namespace longshore::cli
