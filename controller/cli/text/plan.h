// The rollout that a changed manifest would start, for people.
//
// Pure, as text.h.
#pragma once

#include <string>

#include "controller/api/types.h"
#include "controller/rollout/preview.h"

namespace longshore::cli {

// `model`: as it would be stored. `nodes`: of its fleet.
std::string PlanText(const api::Model& model, const rollout::Preview& preview, size_t nodes);

}  // namespace longshore::cli
