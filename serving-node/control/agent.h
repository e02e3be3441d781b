// The node's side of the stream to the controller: takes the desired state, makes the node do it, tells what it has.
//
// Desired state survives in <state_dir>/desired.pb, written before it is acknowledged: a node that starts serves what
// it served, whoever is reachable; one without a state takes a peer's. Dialling never gives up. Which message is taken
// is decided in desired.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "common/file.h"
#include "longshore/control.pb.h"
#include "serving-node/control/session.h"
#include "serving-node/evidence/recorder.h"
#include "serving-node/identity/node_identity.h"
#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/guard.h"
#include "serving-node/routing/router.h"
#include "serving-node/sources/sources.h"
#include "serving-node/trial/gate.h"

namespace longshore::control {

struct AgentOptions {
  DialOptions controller;
  std::string fleet;  // "namespace/name".
  std::string node;
  std::string admin_address;
  std::string software_version;
  Path state_dir;                    // Exists and is writable.
  std::vector<std::string> peers{};  // gRPC targets, asked for their state as long as there is none and no controller.
  std::chrono::milliseconds report_interval{200};  // Between two looks at what changed, and at the silence.
  // The same report is sent again after so long, unless the state says otherwise: a load is news too.
  std::chrono::milliseconds report_again{1000};
  std::chrono::milliseconds folder_interval{1000};       // Between two looks into the models' folders.
  std::chrono::milliseconds stream_silence_max{45'000};  // A stream on which nothing came for so long is dialled anew.
  std::chrono::milliseconds backoff_min{50};
  std::chrono::milliseconds backoff_max{2000};
};

struct AgentDeps {
  models::ModelStore& store;
  sources::Sources& sources;
  batching::Admission& admission;
  routing::Router& router;
  routing::GuardBook& guards;
  evidence::Recorder& recorder;
  trial::Gate& gate;
  trial::Journal& journal;
  routing::Forwarder& forwarder;  // To ask peers.
  const Clock& clock;
  std::function<void()> drain;                      // DrainNode: begins to leave and returns at once.
  std::function<int64_t()> connections;             // Open client connections, for the load report.
  std::function<void(const FleetState&)> on_fleet;  // Peers or limits are others now (connection age, for instance).
  std::function<std::string()> peer_address =
      {};                                      // Where other nodes reach this one now; "": nowhere. Empty: the same.
  identity::NodeIdentity* identity = nullptr;  // Null: no certificate is asked for.
};

// Thread-safe. Has a thread of its own for dialling and reporting, one that reads the stream and applies what came,
// one that measures the silence, and one that looks into folders. Told of trips, and of sources that are
// ready, as long as it lives; GuardBook and Sources may outlive it.
class Agent {
 public:
  // Applies the state on disk, if there is one, before it returns; then dials. DataLoss when that state is damaged.
  static Result<std::unique_ptr<Agent>> Start(AgentOptions options, AgentDeps deps);
  virtual ~Agent() = default;  // Stops.

  // Leaves the stream and ends the agent's threads; the node goes on serving. Not from a callback: whoever shares an
  // agent with callbacks stops it first, as one of them may be the last to let it go.
  virtual void Stop() = 0;

  // Something changed (models::OnChange): report it now instead of at the next interval.
  virtual void Wake() = 0;
  // What the hello says has changed: leaves the stream, and says it anew.
  virtual void SayHelloAgain() = 0;
  // From now on reports say so.
  virtual void SetDraining() = 0;
  // An event for people, with the next report.
  virtual void AddEvent(std::string event) = 0;
  // What is to be served: from the disk, a controller or a peer. Null when nobody told.
  virtual std::shared_ptr<const DesiredState> state() const = 0;
  // Whether every version that the state wants here and gives weight to answers.
  virtual bool ready() const = 0;
};

}  // namespace longshore::control
