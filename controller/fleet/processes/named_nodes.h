// Runs the nodes of fleets as child processes on this host.
//
// All nodes of a fleet accept connections from the same listening sockets, which the controller binds and passes to
// them, so no connection is lost when a node leaves. The nodes outlive the controller. The next controller finds them
// by their records, and receives the listening sockets from any of them (<state>/nodes/NAME/handover.sock).
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/path.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/processes/options.h"

namespace longshore::fleet::processes {

// Starts and stops nodes by name; names are unique in the state directory. Thread-safe. No method waits for a node.
class NamedNodes {
 public:
  virtual ~NamedNodes() = default;  // Does not stop the node processes.

  // Makes the fleet reachable by clients; does nothing if it already is. Returns FailedPrecondition, which names the
  // port, if a port is in use.
  virtual Result<Addresses> EnsureListening(const Spec& spec) = 0;

  // Starts a node, and restarts it with growing pauses if it ends before Stop. Requires EnsureListening. Does nothing
  // if the node exists.
  virtual Status Start(const std::string& fleet, const std::string& node) = 0;

  // Asks a node to finish its work and leave. Does nothing if it is leaving or does not exist.
  virtual Status Stop(const std::string& fleet, const std::string& node) = 0;

  // See Fleet::Restart. A node answers if it passes on its listening sockets.
  virtual Status Restart(const std::string& fleet, const std::string& node) = 0;

  // See Fleet::Nodes.
  virtual std::vector<NodeInfo> Nodes(const std::string& fleet) const = 0;
  virtual std::vector<std::string> Fleets() const = 0;

  // Refuses new connections from now on, although leaving nodes still have the listening sockets. Requires that all
  // nodes of the fleet are leaving.
  virtual Status StopListening(const std::string& fleet) = 0;

  // Stops listening for the fleet. Returns FailedPrecondition if the fleet still has nodes.
  virtual Status Forget(const std::string& fleet) = 0;
};

// Takes over the nodes that an earlier controller left in the state directory. No other controller may use the
// directory at the same time. Returns InvalidArgument if `node_flags` has a flag that the controller sets itself, and
// NotFound if the node's program cannot be executed.
Result<std::unique_ptr<NamedNodes>> StartNamedNodes(ProcessOptions options, const Clock& clock, OnChange on_change);

// The nodes that StopAllNodes has ended.
struct StoppedNodes {
  size_t nodes = 0;
  std::set<std::string> fleets{};  // Their fleets; that of a node without a record is not known.
};

// Asks all nodes of a state directory to leave, including those without a record, and waits for them. Returns
// DeadlineExceeded with the pids of the processes that did not end within the timeout.
Result<StoppedNodes> StopAllNodes(const Path& state_dir, std::chrono::milliseconds timeout);

}  // namespace longshore::fleet::processes
