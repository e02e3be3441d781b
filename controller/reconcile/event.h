// Events of changes to objects, for users. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/api/types.h"
#include "controller/decide/rollout/rollout.h"

namespace longshore::reconcile {

struct Event {
  api::Key object;
  std::string uid;
  bool warning = false;
  std::string reason;  // One CamelCase word.
  std::string message;
};

// Events for the decisions, plus a warning if the Model becomes Stalled and no decision reports a warning (for example
// a refused Model). For the first version of a Model, only warnings and the last event are returned, because the
// intermediate steps are of no use.
std::vector<Event> EventsOf(const api::Model& before, const api::ModelStatus& now,
                            const std::vector<rollout::Event>& decided);

// One event if the wanted number of nodes changes, and one if the fleet becomes Stalled.
std::vector<Event> EventsOf(const api::ServingFleet& before, const api::ServingFleetStatus& now);

}  // namespace longshore::reconcile
