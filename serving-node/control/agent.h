// The node's side of the stream to the controller: receives the desired state, applies it, and reports the actual
// state.
//
// The desired state is written to <state_dir>/desired.pb before it is acknowledged, so a restarted node serves what it
// served before even if no controller is reachable. A node without a state takes the state of a peer. The agent dials
// the controller until it is stopped. desired.h decides which messages are accepted.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "longshore/control.pb.h"
#include "serving-node/control/agent_deps.h"
#include "serving-node/control/session.h"
#include "serving-node/evidence/recorder.h"
#include "serving-node/identity/node_identity.h"
#include "serving-node/rehearsal/gate.h"
#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/guard.h"
#include "serving-node/routing/router.h"
#include "serving-node/sources/sources.h"

namespace longshore::control {

struct AgentOptions {
  DialOptions controller;
  std::string fleet;  // "namespace/name".
  std::string node;
  std::string admin_address;
  std::string software_version;
  Path state_dir;                    // Exists and is writable.
  std::vector<std::string> peers{};  // gRPC targets that supply a state if the node has none and no controller answers.
  std::chrono::milliseconds report_interval{200};  // How often changes are reported and heartbeats are checked.
  // An unchanged report is sent again after this time; FleetState.report_again_ms overrides it.
  std::chrono::milliseconds report_again{1000};
  std::chrono::milliseconds folder_interval{1000};       // How often the models' folders are scanned.
  std::chrono::milliseconds stream_silence_max{45'000};  // After this time without a message the stream is redialled.
  std::chrono::milliseconds backoff_min{50};
  std::chrono::milliseconds backoff_max{2000};
};

// Thread-safe. Owns four threads: one dials and reports, one reads the stream and applies messages, one measures the
// time since the controller's last message, and one scans folders. Subscribes to guard trips and to ready sources while
// it exists; GuardBook and Sources may outlive it.
class Agent {
 public:
  // Applies the state on disk, if any, before it returns; then dials. Returns DataLoss if that state is damaged.
  static Result<std::unique_ptr<Agent>> Start(AgentOptions options, AgentDeps deps);
  virtual ~Agent() = default;  // Stops.

  // Closes the stream and ends the agent's threads; the node continues to serve. Must not be called from a callback of
  // the agent. If callbacks share the ownership of the agent, call Stop before you release it: otherwise a callback may
  // release the last reference, and the destructor, which calls Stop, then runs in that callback.
  virtual void Stop() = 0;

  // Reports now instead of at the next interval; call it when something changed (models::OnChange).
  virtual void Wake() = 0;
  // Closes the stream and dials again, to send a new Hello; call it when the contents of the Hello have changed.
  virtual void Reconnect() = 0;
  // Makes later reports say that this node is draining.
  virtual void SetDraining() = 0;
  // Adds an event for users to the next report.
  virtual void AddEvent(std::string event) = 0;
  // Returns the desired state, from the disk, a controller or a peer; null before the first one.
  virtual std::shared_ptr<const DesiredState> state() const = 0;
  // Returns whether this node can answer for every version that it should load with a weight above 0: the version is
  // available, or it failed here and a peer has it ready, to which requests are forwarded.
  virtual bool ready() const = 0;
};

}  // namespace longshore::control
