// What metrics say of a Model and of a ServingFleet: their specs' and statuses' numbers, conditions and words. Pure.
//
// Every metric has the labels namespace, name, fleet ("namespace/name") and, of a Model, model: the name that clients
// call, so that it meets the nodes' metrics on (fleet, model). docs/metrics.md lists them all.
#pragma once

#include <cstdint>

#include "common/metrics/exposition.h"
#include "controller/api/types.h"

namespace longshore::exposition {

// How rollouts of a Model ended since the controller started.
struct Outcomes {
  int64_t completed = 0;
  int64_t rolled_back = 0;
};

void Show(const api::Model& model, const Outcomes& outcomes, metrics::Exposition* out);
void Show(const api::ServingFleet& fleet, metrics::Exposition* out);

}  // namespace longshore::exposition
