#include <signal.h>

#include <algorithm>
#include <map>

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

// Finds the node processes, including those without a record, for example because the folder of the record was deleted.
std::map<pid_t, process::Process> FindAll(const Path& state_dir, const std::vector<NodeRecord>& records) {
  std::map<pid_t, process::Process> found;
  for (const NodeRecord& record : records) {
    auto node = FindProcess(record, NodePaths(state_dir, record.node).StateDirArgument());
    if (node) found.emplace(node->pid(), std::move(*node));
  }
  for (process::Process& node : ProcessesWith(NodePaths(state_dir, "").StateDirArgument())) {
    found.emplace(node.pid(), std::move(node));
  }
  return found;
}

}  // namespace

Status StopAllNodes(const Path& state_dir, milliseconds timeout) {
  const std::vector<NodeRecord> records = ReadRecords(state_dir);
  std::map<pid_t, process::Process> leaving = FindAll(state_dir, records);
  const Status marked = MarkAsStopping(state_dir, records);
  for (const auto& [_, node] : leaving)
    (void)node.Signal(SIGTERM);  // An error means that the process has already ended.
  const auto deadline = steady_clock::now() + timeout;
  std::string left;
  for (auto& [pid, node] : leaving) {
    const auto remaining = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (!node.Wait(std::max(remaining, milliseconds(0)))) left += fmt::format(" {}", pid);
  }
  if (!left.empty()) return DeadlineExceeded("these nodes are still finishing their work: processes{}", left);
  return marked;
}

}  // namespace longshore::fleet::processes
