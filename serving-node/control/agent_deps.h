// The other parts of the node that an Agent uses.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/clock.h"
#include "common/storage/storage.h"
#include "longshore/control.pb.h"
#include "serving-node/evidence/recorder.h"
#include "serving-node/golden_set/golden_runs.h"
#include "serving-node/identity/node_identity.h"
#include "serving-node/rehearsal/gate.h"
#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/guard.h"
#include "serving-node/routing/router.h"
#include "serving-node/sources/sources.h"

namespace longshore::control {

struct AgentDeps {
  models::ModelStore& store;
  sources::Sources& sources;
  batching::Admission& admission;
  routing::Router& router;
  routing::GuardBook& guards;
  evidence::Recorder& recorder;
  rehearsal::Gate& gate;
  rehearsal::Journal& journal;
  routing::Forwarder& forwarder;  // Asks peers for the desired state.
  const Clock& clock;
  const storage::Storage& storage;             // For the report.
  storage::WriteHealth& desired_state_health;  // Whether the desired state can be written.
  // Called for a DrainNode message. Begins to drain, unless the fleet is gone, and returns immediately.
  std::function<void(const control::DrainNode&)> drain;
  std::function<void(const MoveConnections&)> move_connections;  // Called for each such message; returns immediately.
  std::function<int64_t()> connections;  // Returns the number of open client connections, for the report.
  std::function<void(const FleetState&)>
      on_fleet;  // Called when the peers or the limits (such as the connection age) may have changed.
  std::function<std::string()> peer_address =
      {};  // Returns this node's address for its peers; "" (or no function) if they cannot reach this node.
  identity::NodeIdentity* identity = nullptr;     // Null if the node requests no certificates.
  golden_set::GoldenRuns* golden_runs = nullptr;  // Null if golden sets run only in rehearsals.
};

}  // namespace longshore::control
