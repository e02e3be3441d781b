// What is written down of a node's process, so that a controller that starts again finds it:
// <state>/nodes/NAME/node.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "common/process/process.h"

namespace longshore::fleet {

struct NodeRecord {
  std::string fleet;
  std::string node;
  int64_t pid = 0;  // 0: about to be started.
  uint64_t start_time = 0;
  bool stopping = false;  // It was told to leave, so nobody starts it again.
};

// Where a node keeps its things.
struct NodePaths {
  NodePaths(const Path& state_dir, const std::string& node);

  // By which the process is known; with the node "" the beginning of every node's.
  std::string StateDirArgument() const { return "--state_dir=" + dir.string(); }

  Path dir;
  Path record;
  Path log;
  Path ports;
  Path peer_socket;
  Path handover_socket;
};

Status WriteRecord(const NodePaths& paths, const NodeRecord& record);

// All records below <state>/nodes, ordered by node. One that cannot be read is logged and skipped.
std::vector<NodeRecord> ReadRecords(const Path& state_dir);

// The process that the record means. A record without a pid means the process, if any, that was started with this
// argument: the controller died between starting it and writing that down. NotFound when there is none.
Result<process::Process> FindProcess(const NodeRecord& record, const std::string& argument);

// The processes that have an argument which begins like this, whether anything is written down of them or not.
std::vector<process::Process> ProcessesWith(const std::string& beginning);

}  // namespace longshore::fleet
