// Metrics of Models and ServingFleets, from their specs and statuses.
//
// Each metric has the labels namespace, name and fleet ("namespace/name"). Metrics of a Model also have the label
// model, the served name, so that they can be joined with the metrics of nodes on (fleet, model). docs/metrics.md lists
// all metrics.
#pragma once

#include <cstdint>

#include "common/metrics/exposition.h"
#include "controller/api/types.h"

namespace longshore::exposition {

// The number of rollouts of a Model that ended since the controller started, by result.
struct Outcomes {
  int64_t completed = 0;
  int64_t rolled_back = 0;
};

void Show(const api::Model& model, const Outcomes& outcomes, metrics::Exposition* out);
void Show(const api::ServingFleet& fleet, metrics::Exposition* out);

}  // namespace longshore::exposition
