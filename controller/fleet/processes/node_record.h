// The record of a node's process, by which a restarted controller finds it: <state>/nodes/NAME/node.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/os/process/process.h"

namespace longshore::fleet::processes {

struct NodeRecord {
  std::string fleet;
  std::string node;
  int64_t pid = 0;  // 0: the process was about to be started.
  uint64_t start_time = 0;
  bool stopping = false;  // The node was asked to leave and must not be restarted.
};

// The paths of a node's files and sockets.
struct NodePaths {
  NodePaths(const Path& state_dir, const std::string& node);

  // The argument that identifies the node's process. With node "" it is a prefix of the argument of every node.
  std::string StateDirArgument() const { return "--state_dir=" + dir.string(); }

  Path dir;
  Path record;
  Path log;
  Path ports;
  Path peer_socket;
  Path handover_socket;
};

Status WriteRecord(const NodePaths& paths, const NodeRecord& record);

// Returns all records below <state>/nodes, ordered by node. Logs and skips unreadable records.
std::vector<NodeRecord> ReadRecords(const Path& state_dir);

// Returns the process of the record, or NotFound. For a record without a pid, searches for a process with `argument`,
// because the controller may have ended after it started the process and before it recorded the pid.
Result<process::Process> FindProcess(const NodeRecord& record, const std::string& argument);

// Returns the processes with an argument that begins with `beginning`, including those without a record.
std::vector<process::Process> ProcessesWith(const std::string& beginning);

}  // namespace longshore::fleet::processes
