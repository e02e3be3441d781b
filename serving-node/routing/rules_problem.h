// Whether a node can apply the match rules of a model as they are meant. Pure.
#pragma once

#include <optional>

#include "longshore/control.pb.h"
#include "serving-node/routing/router_deps.h"
#include "serving-node/routing/table.h"

namespace longshore::routing {

// Returns why rules of the model do not work on this node, for the report to the controller: the node could not compile
// them, or it does not find out what they compare. nullopt if all work.
std::optional<control::RulesReport> ProblemOf(const ModelRoutes& model, const Identities& identities);

}  // namespace longshore::routing
