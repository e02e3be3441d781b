// Describes the rollout that a changed manifest would start.
//
// Pure, like text.h.
#pragma once

#include <string>

#include "controller/api/types.h"
#include "controller/decide/rollout/preview.h"

namespace longshore::cli::text {

// `model`: the Model as it would be stored after the change. `nodes`: the number of nodes of its fleet.
std::string PlanText(const api::Model& model, const rollout::Preview& preview, size_t nodes);

}  // namespace longshore::cli::text
