// Fleets of child processes on this host.
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

// Takes over the nodes that an earlier controller left in the state directory. No other may use it meanwhile.
// InvalidArgument for a flag of nodes that the fleet gives them itself.
Result<std::unique_ptr<Fleet>> StartProcessFleet(ProcessOptions options, const Clock& clock, OnChange on_change);

// Tells all nodes of a state directory to leave, recorded or not, and waits for their ends, at most so long:
// DeadlineExceeded naming those that are still there.
Status StopAllNodes(const Path& state_dir, std::chrono::milliseconds timeout);

}  // namespace longshore::fleet
