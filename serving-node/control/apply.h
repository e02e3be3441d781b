// Applies the desired state to the components of a node.
#pragma once

#include <vector>

#include "longshore/control.pb.h"
#include "serving-node/batching/batching.h"
#include "serving-node/control/agent_deps.h"
#include "serving-node/models/models.h"

namespace longshore::control {

// Returns the sources of all models of the state, and of the versions that the state tells the node to load.
std::vector<sources::VersionSource> SourcesOf(const DesiredState& state);

// Returns the models of which this node loads versions, without the versions whose source is not ready or not
// supported.
std::vector<models::Wanted> WantedOf(const DesiredState& state, const sources::Sources& sources);

batching::Limits LimitsOf(const FleetState& fleet);

// Passes the state to sources, gate, router, admission and store, in this order: so the gate checks a version against
// the new state before the version is loaded, and the router stops sending requests to a version before it is unloaded.
// `before` is the state that was applied last; null at first.
void Apply(const std::shared_ptr<const DesiredState>& state, const DesiredState* before, const AgentDeps& deps);

}  // namespace longshore::control
