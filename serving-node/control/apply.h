// Makes the parts of a node do what the desired state says.
#pragma once

#include <vector>

#include "longshore/control.pb.h"
#include "serving-node/batching/batching.h"
#include "serving-node/control/agent.h"
#include "serving-node/models/models.h"

namespace longshore::control {

// The directory that holds a model's versions. Unimplemented for anything but file:///absolute/path.
Result<Path> SourceDir(const ModelState& model);

// The models of which this node holds versions; those whose source it cannot read are left out.
std::vector<models::Wanted> WantedOf(const DesiredState& state);

batching::Limits LimitsOf(const FleetState& fleet);

// Hands the state to gate, router, admission and store, in this order: a version is judged by the new state before it
// loads, and gets no more requests before it unloads. `before` is what was applied last; null at first.
void Apply(const std::shared_ptr<const DesiredState>& state, const DesiredState* before, const AgentDeps& deps);

}  // namespace longshore::control
