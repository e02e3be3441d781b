// What the node tells its controller: what it really has, what it did, what happened.
#pragma once

#include <string>
#include <vector>

#include "longshore/control.pb.h"
#include "serving-node/control/agent.h"
#include "serving-node/control/folders.h"
#include "serving-node/models/models.h"

namespace longshore::control {

// What the gate knows about a version beside its status.
struct GateView {
  bool in_trial = false;
  bool quarantined = false;
};
VersionReport::State StateOf(const models::VersionStatus& status, const GateView& gate);

// Every version of the state, those that still leave, and `found`, unless it is among them. Without events.
Report BuildReport(const DesiredState& state, const FoundVersions& found, bool draining, const AgentDeps& deps);

}  // namespace longshore::control
