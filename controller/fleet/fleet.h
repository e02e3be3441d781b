// The seam for the machines of a fleet: where its nodes come from and go to.
//
// Two homes: processes/, child processes on one host; pods/, a Deployment in a cluster. What the nodes serve is none of
// its business: they dial the controller by themselves (nodes/).
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "controller/api/types.h"

namespace longshore::fleet {

// Where clients reach the fleet: "host:port". Where its nodes are pods also what selects them and what they run.
struct Addresses {
  std::string grpc{};
  std::string rest{};
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

// Fleets are named "namespace/name". Thread-safe. No method waits for a node.
class Fleet {
 public:
  virtual ~Fleet() = default;

  // Makes the fleet as its object says, but for the number of its nodes, and reachable by clients; does nothing when it
  // is. Reads metadata, spec and the status' image. FailedPrecondition naming the port when it is in use.
  virtual Result<Addresses> Ensure(const api::ServingFleet& fleet) = 0;

  // So many nodes stay. Of too many those leave first that come first in `leave_first`, all others last; each finishes
  // its work before it goes. Requires Ensure.
  virtual Status Scale(const std::string& fleet, int nodes, const std::vector<std::string>& leave_first) = 0;

  // All nodes of the fleet that are there, leaving ones too, ordered by name.
  virtual std::vector<NodeInfo> Nodes(const std::string& fleet) const = 0;

  // The fleets that have nodes or are reachable, also those of which no object is known any more; ordered.
  virtual std::vector<std::string> Fleets() const = 0;

  // Its nodes finish their work and leave, then clients reach it no more. Does nothing when it is gone; to be called
  // again as long as it is one of Fleets.
  virtual Status Remove(const std::string& fleet) = 0;
};

}  // namespace longshore::fleet
