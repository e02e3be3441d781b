// The interface that starts and stops the nodes of fleets.
//
// Two implementations: processes/ starts child processes on one host; pods/ scales a Deployment in a cluster. This
// interface does not control what the nodes serve: they dial the controller themselves (nodes/).
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/api/types.h"

namespace longshore::fleet {

// The addresses at which clients reach the fleet: "host:port". If the nodes are pods, also their label selector, their
// image, and namespace/name of the Lease of the controller.
struct Addresses {
  std::string grpc{};
  std::string rest{};
  std::string pod_selector{};
  std::string pod_image{};
  std::string controller_lease{};
};

enum class NodeState {
  kRunning,
  kStopping,   // It was asked to stop, and ends when its requests are finished.
  kBackingOff  // It ended without being asked and will be restarted after a pause.
};

struct NodeInfo {
  std::string node;
  int64_t pid = 0;
  NodeState state = NodeState::kRunning;
  TimePoint started_at;   // When the current process started.
  int crashes = 0;        // Number of unrequested ends of its processes, at least since this controller knows the node.
  std::string last_exit;  // How its last process ended: "was killed by signal 9 (SIGKILL)"; "": none has.
  std::string trouble;    // Why the node cannot be started or recorded; "": no problem.
};

// How far the fleet is from what Ensure and Scale asked for, beyond what the nodes report themselves.
struct Progress {
  std::string unreachable{};                 // Why the addresses do not answer, if nodes are ready; "": they answer.
  std::string unchecked{};                   // Why it is not known whether the addresses answer; "": it is known.
  std::string unfinished{};                  // Why the nodes are not yet those that were asked for; "": they are.
  std::optional<Duration> check_again_in{};  // When this changes without a call of OnChange.
};

inline bool IsLeaving(const NodeInfo& node) { return node.state == NodeState::kStopping; }
// The number of nodes that are not leaving.
inline int CountStaying(const std::vector<NodeInfo>& nodes) {
  return static_cast<int>(nodes.size()) - static_cast<int>(std::count_if(nodes.begin(), nodes.end(), IsLeaving));
}

// Called when a node was added, was removed or changed its state, on any thread and without a lock.
using OnChange = std::function<void(const std::string& fleet)>;

// Thread-safe. Fleets are named "namespace/name". No method waits for a node.
class Fleet {
 public:
  virtual ~Fleet() = default;

  // Sets up the fleet as its object specifies, except for the number of nodes, and makes it reachable by clients. Does
  // nothing if it is set up already. Reads metadata, spec and the image in the status. Returns FailedPrecondition,
  // which names the port, if a port is in use. Returns AlreadyExists, and does nothing, if the name of the fleet is
  // reserved: its objects would replace those of the controller.
  virtual Result<Addresses> Ensure(const api::ServingFleet& fleet) = 0;

  // Sets the number of nodes. If there are too many, those in `leave_first` leave first, in this order, then others;
  // each finishes its work first. Requires an earlier Ensure.
  virtual Status Scale(const std::string& fleet, int nodes, const std::vector<std::string>& leave_first) = 0;

  // Returns the number of nodes that the last successful call of Scale asked for, even if an earlier controller made
  // the call or not all nodes exist yet. 0 if there was none.
  virtual int Wanted(const std::string& fleet) const = 0;

  // Begins to ask a node whether it answers, and ends its process if not, so that it is restarted. FailedPrecondition:
  // it has answered within the last seconds. Unimplemented: somebody else watches over the node, as Kubernetes does.
  virtual Status Restart(const std::string& fleet, const std::string& node) = 0;

  // Returns all existing nodes of the fleet, including leaving ones, ordered by name.
  virtual std::vector<NodeInfo> Nodes(const std::string& fleet) const = 0;

  virtual Progress ProgressOf(const std::string& fleet) const = 0;

  // Returns the fleets that have nodes or are reachable, including those whose object was deleted; ordered.
  virtual std::vector<std::string> Fleets() const = 0;

  // Makes all nodes finish their work and leave. Does nothing if the fleet does not exist.
  virtual Status Remove(const std::string& fleet) = 0;

  // Refuses new connections of clients from now on, also while nodes of the fleet finish their work, until the next
  // Ensure. Requires an earlier Remove. Call both again until Fleets() no longer contains the fleet.
  virtual Status StopListening(const std::string& fleet) = 0;
};

}  // namespace longshore::fleet
