// The pairs of a rollout whose answers differ most, for `explain`. Only the controller's console has them: they are in
// its memory and not in the status.
#pragma once

#include <string>

#include "common/base/path.h"
#include "common/json/json.h"
#include "controller/api/types.h"

namespace longshore::cli::pairs {

// On a host, asks the console of the controller and returns a table of the worst three pairs; "" if none differs. If
// the console does not answer in a second, and on a cluster, for which `manifests` is "", returns a sentence that says
// where they are. "" if the rollout has no pairs.
std::string WorstPairsText(const api::Model& model, const Path& manifests);

// `history`: the console's answer about the history of a Model. It is checked, because a console of another release may
// have written it.
std::string WorstPairsTable(const Json& history);

}  // namespace longshore::cli::pairs
