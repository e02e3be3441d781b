// The answer to "why": why this version serves, why the rollout waits or ended, with the numbers, and what one can do.
//
// Pure, as text.h.
#pragma once

#include <string>

#include "common/clock.h"
#include "controller/api/types.h"

namespace longshore::cli {

// What the rollout that is under way waits for, as a sentence.
std::string WaitReason(const api::Model& model, TimePoint now);

std::string ExplainModel(const api::Model& model, TimePoint now);

}  // namespace longshore::cli
