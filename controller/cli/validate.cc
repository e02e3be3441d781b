#include "controller/cli/validate.h"

#include <optional>

#include "controller/cli/command/get_or_hint.h"
#include "controller/cli/command/send_command.h"
#include "controller/cli/select.h"
#include "controller/cli/text/golden_run.h"
#include "controller/cli/watch/changes.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

using std::chrono::steady_clock;

// Returns the request; FailedPrecondition if it was replaced.
Result<api::GoldenRequest> RequestIn(store::Store& store, const api::Key& key, const std::string& id) {
  ASSIGN_OR_RETURN(const store::Object object, command::GetOrHint(store, key));
  ASSIGN_OR_RETURN(const api::Model model, store::ToModel(object));
  const std::optional<api::GoldenRequest>& request = model.status.golden_set.request;
  if (request && request->id == id) return *request;
  return FailedPrecondition(
      "{}: the results of this run are gone, because another version serves now, the golden set was changed, or it was "
      "validated again",
      api::ToString(key));
}

// Returns the request when it has ended, or as it is at the deadline.
Result<api::GoldenRequest> AwaitRun(store::Store& store, const api::Key& key, const std::string& id,
                                    steady_clock::time_point deadline) {
  ASSIGN_OR_RETURN(const auto changes,
                   watch::Changes::Watch(store, [&](const api::Key& changed) { return changed == key; }));
  while (true) {
    const bool in_time = changes->WaitUntil(deadline);
    ASSIGN_OR_RETURN(const api::GoldenRequest request, RequestIn(store, key, id));
    if (request.ended || !in_time) return request;
  }
}

}  // namespace

Result<int> Validate(const Options& options, store::Store& store, const Clock& clock, std::ostream& out) {
  const auto deadline = steady_clock::now() + options.timeout;
  const api::Key key{api::kModelKind, options.namespace_, options.name};
  ASSIGN_OR_RETURN(const api::CommandAnswer answer,
                   command::SendCommand(store, key, options.command, clock, options.timeout));
  if (answer.result != api::CommandResult::kDone) return FailedPrecondition("{}", ToString(answer));
  out << ToString(answer) << std::endl;
  ASSIGN_OR_RETURN(const api::GoldenRequest request, AwaitRun(store, key, answer.id, deadline));
  out << text::GoldenRunText(request);
  if (request.failed > 0) return kExitFailed;
  return request.waiting > 0 ? kExitTimeout : kExitOk;
}

}  // namespace longshore::cli
