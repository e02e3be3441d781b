#include "controller/reconcile/event.h"

#include <algorithm>

namespace longshore::reconcile {
namespace {

const api::Condition* FindStalled(const std::vector<api::Condition>& conditions) {
  const auto found = std::ranges::find(conditions, "Stalled", &api::Condition::type);
  return found == conditions.end() || found->status != "True" ? nullptr : &*found;
}

}  // namespace

std::vector<Event> EventsOf(const api::Key& key, const std::string& uid, const std::vector<rollout::Event>& events) {
  std::vector<Event> all;
  for (const rollout::Event& event : events) all.push_back({key, uid, event.warning, event.reason, event.message});
  return all;
}

std::vector<Event> EventsOf(const api::ServingFleet& before, const api::ServingFleetStatus& now) {
  const api::Key key{api::kServingFleetKind, before.metadata.namespace_, before.metadata.name};
  std::vector<Event> events;
  const int had = before.status.autoscale.desired;
  const int wants = now.autoscale.desired;
  if (had != wants && had != 0 && wants != 0)
    events.push_back({key, before.metadata.uid, false, wants > had ? "ScaledOut" : "ScaledIn", now.autoscale.message});
  const api::Condition* stalled = FindStalled(now.conditions);
  if (stalled != nullptr && FindStalled(before.status.conditions) == nullptr)
    events.push_back({key, before.metadata.uid, true, stalled->reason, stalled->message});
  return events;
}

}  // namespace longshore::reconcile
