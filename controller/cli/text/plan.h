// Describes the rollout that a changed manifest would start.
//
// Pure, like text.h.
#pragma once

#include <string>

#include "controller/api/types.h"
#include "controller/decide/rollout/preview.h"

namespace longshore::cli::text {

// The Model's fleet.
struct PlannedFleet {
  size_t nodes = 0;
  int concurrent_runs_max = 0;  // As in its spec; 0: the number of processors of a node.
};

// `model`: the Model as it would be stored after the change.
std::string PlanText(const api::Model& model, const rollout::Preview& preview, const PlannedFleet& fleet);

}  // namespace longshore::cli::text
