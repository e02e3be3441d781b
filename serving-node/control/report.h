// Builds the node's report to its controller: the actual state of its versions, sources and load.
#pragma once

#include <string>
#include <vector>

#include "longshore/control.pb.h"
#include "serving-node/control/agent_deps.h"
#include "serving-node/control/folders.h"
#include "serving-node/models/models.h"

namespace longshore::control {

// The gate's information about a version, in addition to its status.
struct GateView {
  bool in_rehearsal = false;
  bool quarantined = false;
};
VersionReport::State StateOf(const models::VersionStatus& status, const GateView& gate);

// Reports every version of the state, the versions that are still being unloaded, and those versions of `folders`
// that are neither; also the problems of folders. Adds no events.
Report BuildReport(const DesiredState& state, const FolderFindings& folders, bool draining, const AgentDeps& deps);

}  // namespace longshore::control
