// The seam for the machines of a fleet: where its nodes come from and go to.
//
// Two homes: processes/, child processes on one host; later pods/, a Deployment in a cluster. What the nodes serve is
// none of its business: they dial the controller by themselves (nodes/).
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/error.h"

namespace longshore::fleet {

struct Spec {
  std::string fleet;  // "namespace/name".
  int grpc_port = 0;  // 0: any free port, told in Addresses.
  int rest_port = 0;
  Duration connection_age_max{0};
};

// Where clients reach the fleet: "host:port". Where its nodes are pods also what selects them and what they run.
struct Addresses {
  std::string grpc;
  std::string rest;
  std::string pod_selector{};
  std::string pod_image{};
};

enum class NodeState {
  kRunning,
  kStopping,   // Told to leave; it ends when its work is done.
  kBackingOff  // It ended by itself and is started again later.
};

struct NodeInfo {
  std::string node;
  int64_t pid = 0;
  NodeState state = NodeState::kRunning;
  TimePoint started_at;   // Of this process.
  int crashes = 0;        // Ends that nobody asked for, since this controller knows the node.
  std::string last_exit;  // "was killed by signal 9 (SIGKILL)"; "" when it never ended.
  std::string trouble;    // Why it cannot be started or written down; "" when it can.
};

inline bool IsLeaving(const NodeInfo& node) { return node.state == NodeState::kStopping; }
// Nodes that are there and are not leaving.
inline int CountStaying(const std::vector<NodeInfo>& nodes) {
  return static_cast<int>(nodes.size()) - static_cast<int>(std::count_if(nodes.begin(), nodes.end(), IsLeaving));
}

// A node came, went or changed its state. Any thread, no lock held.
using OnChange = std::function<void(const std::string& fleet)>;

// Thread-safe. No method waits for a node.
class Fleet {
 public:
  virtual ~Fleet() = default;

  // Makes the fleet reachable by clients; does nothing when it already is. FailedPrecondition naming the port when it
  // is in use.
  virtual Result<Addresses> EnsureListening(const Spec& spec) = 0;

  // Starts a node, and starts it again, with growing pauses, whenever it ends before Stop. Requires EnsureListening.
  // Does nothing when the node is there already.
  virtual Status Start(const std::string& fleet, const std::string& node) = 0;

  // Tells a node to finish its work and leave. Does nothing when it is leaving or gone.
  virtual Status Stop(const std::string& fleet, const std::string& node) = 0;

  // All nodes of the fleet that are there, leaving ones too, ordered by name.
  virtual std::vector<NodeInfo> Nodes(const std::string& fleet) const = 0;

  // The fleets that have nodes or listen, also those of which no object is known any more; ordered.
  virtual std::vector<std::string> Fleets() const = 0;

  // Stops listening once the fleet has no node. FailedPrecondition while it has.
  virtual Status Forget(const std::string& fleet) = 0;
};

}  // namespace longshore::fleet
