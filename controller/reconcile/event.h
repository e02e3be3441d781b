// Computes the events that tell users how an object changed. Pure.
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

// Returns an event for each event of `decided`, plus a warning if the Model becomes Stalled and `decided` has no
// warning (for example because the fleet refuses the Model).
std::vector<Event> EventsOf(const api::Model& before, const api::ModelStatus& now,
                            const std::vector<rollout::Event>& decided);

// Returns an event if autoscaling changes its wanted number of nodes, and a warning if the fleet becomes Stalled.
std::vector<Event> EventsOf(const api::ServingFleet& before, const api::ServingFleetStatus& now);

}  // namespace longshore::reconcile
