// The view of a rollout that `longshore rollout` shows, and shows again while it changes.
//
// Pure, like text.h.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "controller/api/types.h"
#include "controller/cli/text/standing.h"

namespace longshore::cli::text {

// The steps, the split of the requests, the nodes, stable and candidate side by side with the intervals of their
// differences against the limits, the verdict, the newest events, and the commands that would be executed now. `place`:
// see OffersText.
std::string RolloutView(const api::Model& model, TimePoint now, const std::string& place);

// Whether the last rollout has ended with the version that served before.
bool WasRolledBack(const api::Model& model);

// How the rollout has ended, as one line; if it has not, that no controller continues it. `report`: that about the
// Model.
std::string OutcomeText(const api::Model& model, const Report& report);

}  // namespace longshore::cli::text
