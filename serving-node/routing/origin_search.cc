#include "serving-node/routing/origin_search.h"

#include <future>
#include <utility>

#include "serving-node/inference/inputs.h"

namespace longshore::routing {

bool HasBacklog(const batching::Admission& admission) {
  const batching::Load load = admission.load();
  return load.queued > load.concurrent_runs_max;
}

void OriginSearch::Find(models::Handle ready, Request request, Found found) {
  const bool waits = worker_.Post(
      [this, ready = std::move(ready), request = std::move(request), found] { found(Look(*ready, *request)); });
  if (!waits) found("");
}

std::string OriginSearch::Look(const models::ReadyVersion& ready, const inference::Request& request) const {
  if (HasBacklog(admission_)) return "";
  auto run = inference::ToRunRequest(request, ready.loaded->signatures(), budget_.elements_max);
  if (!run) return "";
  run->thread = engine::Thread::kCallers;
  std::promise<std::string> promise;
  ready.loaded->FindNonFinite(std::move(*run), [&promise](const Result<std::optional<engine::NonFinite>>& found) {
    promise.set_value(found && *found ? ToString(**found) : "");
  });
  return promise.get_future().get();
}

}  // namespace longshore::routing
