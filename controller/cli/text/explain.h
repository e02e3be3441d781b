// Explains to a person what a Model serves and why, and what its rollout does.
//
// Pure, like text.h.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::cli::text {

// Returns an empty line, the title and the body; "" if the body is empty.
std::string Section(const std::string& title, const std::string& body);

// Returns indented lines: the phase of the rollout, how long it has been in it, and what it waits for. Without a
// rollout under way, they say how the last one ended.
std::string RolloutText(const api::Model& model, TimePoint now);

// Returns the verdict of the rollout and what would change it, as indented lines; "" without a verdict.
std::string VerdictText(const api::Model& model);
// Returns VerdictText, and how old its numbers are unless they are new.
std::string DatedVerdictText(const api::Model& model, TimePoint now);

// What the rollout in progress waits for.
std::string WaitReason(const api::Model& model, TimePoint now);

// What the manifest asks for, what serves, what the rollout has compared and decided, and what a user can do now.
// `place`: see OffersText. `worst_pairs`: indented lines about the pairs whose answers differ most; "" if there are
// none.
std::string ExplainModel(const api::Model& model, TimePoint now, const std::string& place = "",
                         const std::string& worst_pairs = "");

}  // namespace longshore::cli::text
