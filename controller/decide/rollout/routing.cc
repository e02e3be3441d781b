#include "controller/decide/rollout/routing.h"

#include <algorithm>

namespace longshore::rollout {
namespace {

const api::Condition* Find(const api::ModelStatus& status, const char* type) {
  const auto found = std::ranges::find(status.conditions, type, &api::Condition::type);
  return found == status.conditions.end() ? nullptr : &*found;
}

}  // namespace

bool WasReady(const api::ModelStatus& before) {
  const api::Condition* ready = Find(before, "Ready");
  return ready != nullptr ? ready->status == "True" : before.stable_version != 0;
}

bool MustBeRouted(const api::ModelStatus& status) {
  const api::Condition* reconciling = Find(status, "Reconciling");
  const bool is_as_wanted = reconciling != nullptr && reconciling->status == "False";
  return !WasReady(status) || !(is_as_wanted || IsUnderWay(status.rollout.phase));
}

bool IsRouted(const Draft& draft) { return draft.KeepsRoutes() && draft.observed().untold.empty(); }

std::optional<Duration> RoutingIsLateIn(const Draft& draft) {
  if (IsRouted(draft)) return std::nullopt;
  const TimePoint changed = draft.status().rollout.step_started_at;
  const api::Condition* reconciling = Find(draft.before(), "Reconciling");
  const bool was_awaited = draft.KeepsRoutes() && reconciling != nullptr && reconciling->status == "True";
  const TimePoint since = was_awaited ? std::max(changed, reconciling->last_transition) : draft.now();
  return std::max(Duration(0), since + draft.policy().progress_deadline - draft.now());
}

std::string NotRoutedText(const Draft& draft) {
  const auto& untold = draft.observed().untold;
  if (!draft.KeepsRoutes() || untold.empty()) return "; nodes are being told to route requests to it";
  return "; not all nodes route requests by the manifest yet: " + api::JoinSentences(untold);
}

}  // namespace longshore::rollout
