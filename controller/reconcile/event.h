// What happens to our objects, in words for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/api/types.h"
#include "controller/rollout/rollout.h"

namespace longshore::reconcile {

struct Event {
  api::Key object;
  std::string uid;
  bool warning = false;
  std::string reason;  // One CamelCase word.
  std::string message;
};

std::vector<Event> EventsOf(const api::Key& key, const std::string& uid, const std::vector<rollout::Event>& events);

// One when it gets another number of nodes, and one when it begins to be stalled.
std::vector<Event> EventsOf(const api::ServingFleet& before, const api::ServingFleetStatus& now);

}  // namespace longshore::reconcile
