// Child processes on this host, as the nodes of fleets.
//
// All nodes of a fleet accept from the same listening sockets, which the controller binds and hands down; so no
// connection is lost when one of them leaves. The nodes outlive a killed controller. The next one finds them by their
// records, gets the listening sockets back from any of them (<state>/nodes/NAME/handover.sock), and goes on.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/file.h"
#include "controller/fleet/fleet.h"

namespace longshore::fleet {

struct Spec {
  std::string fleet;  // "namespace/name".
  int grpc_port = 0;  // 0: any free port, told in Addresses.
  int rest_port = 0;
  Duration connection_age_max{0};
};

struct ProcessOptions {
  Path state_dir{};
  Path node_binary{};
  std::string controller{};        // What nodes dial: "unix:<state>/controller.sock".
  std::string host = "127.0.0.1";  // Where fleets listen.
  std::string node_log_level = "info";
  std::vector<std::string> node_environment{};     // "NAME=value", all that nodes get.
  std::vector<std::string> node_flags{};           // "NAME=value" or "NAME"; "{node}" in it is the node's name.
  std::chrono::milliseconds backoff_min{200};      // Before a node that ended by itself is started again; doubles
  std::chrono::milliseconds backoff_max{10000};    // up to this,
  std::chrono::milliseconds healthy_after{60000};  // and begins anew after a node ran for so long.
  int handover_timeout_ms = 1000;
  size_t nodes_max = 100;
};

// Nodes by their names, which are unique in the state directory. Thread-safe. No method waits for a node.
class NamedNodes {
 public:
  virtual ~NamedNodes() = default;  // The processes stay.

  // Makes the fleet reachable by clients; does nothing when it already is. FailedPrecondition naming the port when it
  // is in use.
  virtual Result<Addresses> EnsureListening(const Spec& spec) = 0;

  // Starts a node, and starts it again, with growing pauses, whenever it ends before Stop. Requires EnsureListening.
  // Does nothing when the node is there already.
  virtual Status Start(const std::string& fleet, const std::string& node) = 0;

  // Tells a node to finish its work and leave. Does nothing when it is leaving or gone.
  virtual Status Stop(const std::string& fleet, const std::string& node) = 0;

  // As Fleet's.
  virtual std::vector<NodeInfo> Nodes(const std::string& fleet) const = 0;
  virtual std::vector<std::string> Fleets() const = 0;

  // Stops listening once the fleet has no node. FailedPrecondition while it has.
  virtual Status Forget(const std::string& fleet) = 0;
};

// Takes over the nodes that an earlier controller left in the state directory. No other may use it meanwhile.
// InvalidArgument for a flag of nodes that the fleet gives them itself.
Result<std::unique_ptr<NamedNodes>> StartNamedNodes(ProcessOptions options, const Clock& clock, OnChange on_change);

// Tells all nodes of a state directory to leave, recorded or not, and waits for their ends, at most so long:
// DeadlineExceeded naming those that are still there.
Status StopAllNodes(const Path& state_dir, std::chrono::milliseconds timeout);

}  // namespace longshore::fleet
