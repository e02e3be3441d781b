// Makes the parts of a node do what the desired state says.
#pragma once

#include <vector>

#include "longshore/control.pb.h"
#include "serving-node/batching/batching.h"
#include "serving-node/control/agent.h"
#include "serving-node/models/models.h"

namespace longshore::control {

// Where the state's models come from, those of all their versions included.
std::vector<sources::Source> SourcesOf(const DesiredState& state);

// The models of which this node holds versions; versions whose source is not there yet, or no source of ours, are left
// out.
std::vector<models::Wanted> WantedOf(const DesiredState& state, const sources::Sources& sources);

batching::Limits LimitsOf(const FleetState& fleet);

// Hands the state to sources, gate, router, admission and store, in this order: a version is judged by the new state
// before it loads, and gets no more requests before it unloads. `before` is what was applied last; null at first.
void Apply(const std::shared_ptr<const DesiredState>& state, const DesiredState* before, const AgentDeps& deps);

}  // namespace longshore::control
