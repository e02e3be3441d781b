#include <signal.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/os/log.h"
#include "controller/fleet/processes/named_nodes.h"
#include "controller/fleet/processes/node_record.h"

namespace longshore::fleet::processes {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Records that the nodes must not be restarted. Continues after an error and returns the first one.
Status MarkAsStopping(const Path& state_dir, const std::vector<NodeRecord>& records) {
  Status first;
  for (NodeRecord record : records) {
    record.stopping = true;
    const Status written = WriteRecord(NodePaths(state_dir, record.node), record);
    if (!written && first) first = written;
  }
  return first;
}

struct Leaving {
  std::map<pid_t, process::Process> processes{};
  std::set<std::string> fleets{};
};

// Finds the node processes, including those without a record, for example because the folder of the record was deleted.
Leaving FindAll(const Path& state_dir, const std::vector<NodeRecord>& records) {
  Leaving found;
  for (const NodeRecord& record : records) {
    auto node = FindProcess(record, NodePaths(state_dir, record.node).StateDirArgument());
    if (!node) continue;
    found.processes.emplace(node->pid(), std::move(*node));
    found.fleets.insert(record.fleet);
  }
  for (process::Process& node : ProcessesWith(NodePaths(state_dir, "").StateDirArgument())) {
    found.processes.emplace(node.pid(), std::move(node));
  }
  return found;
}

}  // namespace

Result<StoppedNodes> StopAllNodes(const Path& state_dir, milliseconds timeout) {
  const std::vector<NodeRecord> records = ReadRecords(state_dir);
  Leaving leaving = FindAll(state_dir, records);
  const Status marked = MarkAsStopping(state_dir, records);
  for (const auto& [_, node] : leaving.processes)
    (void)node.Signal(SIGTERM);  // An error means that the process has already ended.
  const auto deadline = steady_clock::now() + timeout;
  std::string left;
  for (auto& [pid, node] : leaving.processes) {
    const auto remaining = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (!node.Wait(std::max(remaining, milliseconds(0)))) left += fmt::format(" {}", pid);
  }
  if (!left.empty()) return DeadlineExceeded("these nodes are still finishing their work: processes{}", left);
  RETURN_IF_ERROR(marked);
  return StoppedNodes{leaving.processes.size(), std::move(leaving.fleets)};
}

}  // namespace longshore::fleet::processes
