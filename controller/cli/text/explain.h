// Explains to a person what a Model serves and why, and what its rollout does.
//
// Pure, like text.h.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::cli::text {

// A headline and its lines, with an empty line before; "" without lines.
std::string Section(const std::string& title, const std::string& body);

// Where the rollout is, since when, and what it waits for; or how the last one ended. Indented lines.
std::string RolloutText(const api::Model& model, TimePoint now);

// The verdict of the rollout, and what would change it. Indented lines; "" if there is none.
std::string VerdictText(const api::Model& model);

// What the rollout in progress waits for.
std::string WaitReason(const api::Model& model, TimePoint now);

// What the manifest asks for, what serves, what the rollout has compared and decided, and what a user can do now.
// `place`: see OffersText.
std::string ExplainModel(const api::Model& model, TimePoint now, const std::string& place = "");

}  // namespace longshore::cli::text
