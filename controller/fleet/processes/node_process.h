// One node of a fleet with its current process: how it is started, taken over and restarted.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/os/process/process.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/processes/listening.h"
#include "controller/fleet/processes/node_record.h"
#include "controller/fleet/processes/options.h"

namespace longshore::fleet::processes {

struct NodeProcess {
  std::string fleet;
  NodeInfo info;
  std::optional<process::Process> process;  // nullopt while the node waits for its restart.
  std::chrono::steady_clock::time_point began;
  std::chrono::steady_clock::time_point start_again_at;
  int crashes_in_a_row = 0;
  std::optional<std::chrono::steady_clock::time_point> answered_at;  // When its process last answered the controller.
  bool hung = false;  // Whether the controller ends the process because it does not answer.
};

// Takes over a node of an earlier controller: keeps its process if it is running, otherwise schedules the restart of
// the node. Returns nullopt if the node was asked to leave and has left.
std::optional<NodeProcess> TakeOver(const ProcessOptions& options, const NodeRecord& record, TimePoint now);

// Returns InvalidArgument if one of the options' `node_flags` is malformed or is a flag that the controller sets
// itself.
Status CheckNodeFlags(const ProcessOptions& options);

// Starts the node's process with these listening sockets.
Status Run(const ProcessOptions& options, const Spec& spec, const Sockets& sockets, TimePoint now, NodeProcess& node);

// Sets or clears the problem that the node's record cannot be written.
void SetRecordProblem(const Status& written, NodeInfo& info);

// Removes the folder of a node that has left, because its state would be outdated when a node of this name starts
// again.
Status RemoveDir(const NodePaths& paths);

// Handles the end of a process that the controller did not ask to stop: schedules a restart after a pause that grows
// with consecutive crashes. An exit with code 0 was requested by another program and is not a crash, unless it came
// right after the start.
void BackOff(const ProcessOptions& options, const process::Exit& exit, NodeProcess& node);

}  // namespace longshore::fleet::processes
