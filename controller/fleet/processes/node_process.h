// One node of a fleet through all its processes: started, ended, started again.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/clock.h"
#include "common/process/process.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/processes/listening.h"
#include "controller/fleet/processes/named_nodes.h"
#include "controller/fleet/processes/node_record.h"

namespace longshore::fleet {

struct NodeProcess {
  std::string fleet;
  NodeInfo info;
  std::optional<process::Process> process;  // Nothing while it backs off.
  std::chrono::steady_clock::time_point began;
  std::chrono::steady_clock::time_point start_again_at;
  int crashes_in_a_row = 0;
};

// The node of an earlier controller: its process goes on, or it is to be started again at once. Nothing when it was
// told to leave and has left.
std::optional<NodeProcess> TakeOver(const ProcessOptions& options, const NodeRecord& record, TimePoint now);

// InvalidArgument for a flag that is none, or that every node gets anyway.
Status CheckNodeFlags(const ProcessOptions& options);

// Starts the node's process on these sockets.
Status Run(const ProcessOptions& options, const Spec& spec, const Sockets& sockets, TimePoint now, NodeProcess& node);

// Whether the node's record could be written, for people.
void SetTrouble(const Status& written, NodeInfo& info);

// What a node held that has left is stale when one of its name starts the next time.
Status RemoveDir(const NodePaths& paths);

// The process ended by itself: it is started again after a pause that grows with every crash in a row. An end
// with code 0 is none, unless it came at once: somebody else told it to end.
void BackOff(const ProcessOptions& options, const process::Exit& exit, NodeProcess& node);

}  // namespace longshore::fleet
