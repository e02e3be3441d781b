// Describes the rollout that a changed manifest would start.
//
// Pure, like text.h.
#pragma once

#include <string>

#include "controller/api/types.h"
#include "controller/decide/rollout/preview.h"

namespace longshore::cli::text {

// `model`: as it would be stored. `nodes`: how many nodes its fleet has.
std::string PlanText(const api::Model& model, const rollout::Preview& preview, size_t nodes);

}  // namespace longshore::cli::text
