// Explains why a version serves and why a rollout waits or has ended, with the numbers and the available commands.
//
// Pure, like text.h.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::cli::text {

// Returns a sentence about what the rollout in progress waits for.
std::string WaitReason(const api::Model& model, TimePoint now);

std::string ExplainModel(const api::Model& model, TimePoint now);

}  // namespace longshore::cli::text
