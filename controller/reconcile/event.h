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

// What was decided, and that it begins to be stalled where that says no warning of it, as a Model that is refused. Of
// what led to a Model's first version only the last is told, and warnings: nobody has to follow the rest.
std::vector<Event> EventsOf(const api::Model& before, const api::ModelStatus& now,
                            const std::vector<rollout::Event>& decided);

// One when it gets another number of nodes, and one when it begins to be stalled.
std::vector<Event> EventsOf(const api::ServingFleet& before, const api::ServingFleetStatus& now);

}  // namespace longshore::reconcile
