#include "controller/reconcile/event.h"

#include <algorithm>

namespace longshore::reconcile {
namespace {

const api::Condition* FindStalled(const std::vector<api::Condition>& conditions) {
  const auto found = std::ranges::find(conditions, "Stalled", &api::Condition::type);
  return found == conditions.end() || found->status != "True" ? nullptr : &*found;
}

// Returns the Stalled condition if it is true now and was not true before; otherwise nullptr.
const api::Condition* StallThatBegins(const std::vector<api::Condition>& before,
                                      const std::vector<api::Condition>& now) {
  return FindStalled(before) == nullptr ? FindStalled(now) : nullptr;
}

// What holds up the rollout that is under way; "" if nothing does.
std::string HeldUpBy(const api::ModelStatus& status) {
  const auto found = std::ranges::find(status.conditions, "Reconciling", &api::Condition::type);
  const bool is_held = found != status.conditions.end() && IsUnderWay(status.rollout.phase);
  return is_held ? found->message : "";
}

}  // namespace

std::vector<Event> EventsOf(const api::Model& before, const api::ModelStatus& now,
                            const std::vector<rollout::Event>& decided) {
  const api::Key key{api::kModelKind, before.metadata.namespace_, before.metadata.name};
  std::vector<Event> events;
  for (const rollout::Event& event : decided) {
    events.push_back({key, before.metadata.uid, event.warning, event.reason, event.message});
  }
  const api::Condition* stalled = StallThatBegins(before.status.conditions, now.conditions);
  if (stalled != nullptr && std::ranges::none_of(decided, &rollout::Event::warning))
    events.push_back({key, before.metadata.uid, true, stalled->reason, stalled->message});
  const std::string why = HeldUpBy(now);
  const bool was_held = now.rollout.id == before.status.rollout.id && !HeldUpBy(before.status).empty();
  if (!why.empty() && !was_held)
    events.push_back(
        {key, before.metadata.uid, true, "HeldUp", fmt::format("version {}: {}", now.rollout.candidate, why)});
  return events;
}

std::vector<Event> EventsOf(const api::ServingFleet& before, const api::ServingFleetStatus& now) {
  const api::Key key{api::kServingFleetKind, before.metadata.namespace_, before.metadata.name};
  std::vector<Event> events;
  const int had = before.status.autoscale.desired;
  const int wants = now.autoscale.desired;
  if (had != wants && had != 0 && wants != 0)
    events.push_back({key, before.metadata.uid, false, wants > had ? "ScaledOut" : "ScaledIn", now.autoscale.message});
  if (const api::Condition* stalled = StallThatBegins(before.status.conditions, now.conditions))
    events.push_back({key, before.metadata.uid, true, stalled->reason, stalled->message});
  return events;
}

}  // namespace longshore::reconcile
