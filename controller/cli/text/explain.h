// Explains to a person what a Model serves and why, and what its rollout does.
//
// Pure, like text.h.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::cli::text {

// What the rollout in progress waits for.
std::string WaitReason(const api::Model& model, TimePoint now);

// What the manifest asks for, what serves, what the rollout has compared and decided, and what a user can do now.
// `place`: see OffersText.
std::string ExplainModel(const api::Model& model, TimePoint now, const std::string& place = "");

}  // namespace longshore::cli::text
