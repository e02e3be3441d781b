#include "controller/fleet/processes/node_record.h"

#include <algorithm>
#include <charconv>

#include "common/json/json.h"
#include "common/os/file.h"
#include "common/os/log.h"

namespace longshore::fleet::processes {
namespace {

constexpr size_t kCommandLineBytesMax = 64 << 10;

Result<NodeRecord> ReadRecord(const Path& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  try {
    return NodeRecord{json.at("fleet"), json.at("node"), json.at("pid"), json.at("start_time"), json.at("stopping")};
  } catch (const Json::exception& error) {
    return DataLoss("{}", error.what());
  }
}

// Files of /proc do not report their size, so this reads until the end.
std::string ReadProcFile(const Path& path) {
  std::string text;
  FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return text;
  text.resize(kCommandLineBytesMax);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

}  // namespace

NodePaths::NodePaths(const Path& state_dir, const std::string& node)
    : dir(state_dir / "nodes" / node),
      record(dir / "node.json"),
      log(dir / "log"),
      ports(dir / "ports.json"),
      peer_socket(dir / "peer.sock"),
      handover_socket(dir / "handover.sock") {}

Status WriteRecord(const NodePaths& paths, const NodeRecord& record) {
  const Json json = {{"fleet", record.fleet},
                     {"node", record.node},
                     {"pid", record.pid},
                     {"start_time", record.start_time},
                     {"stopping", record.stopping}};
  return WriteFileAtomically(paths.record, DumpJson(json, 1) + "\n");
}

std::vector<NodeRecord> ReadRecords(const Path& state_dir) {
  std::vector<NodeRecord> records;
  std::error_code error;
  for (std::filesystem::directory_iterator at(state_dir / "nodes", error), end; !error && at != end;
       at.increment(error)) {
    Result<NodeRecord> record = ReadRecord(at->path() / "node.json");
    if (record) {
      records.push_back(std::move(*record));
    } else if (record.error().code != Code::kNotFound) {
      spdlog::error("skipped the unreadable record {}: {}", (at->path() / "node.json").string(),
                    record.error().message);
    }
  }
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  return records;
}

Result<process::Process> FindProcess(const NodeRecord& record, const std::string& argument) {
  if (record.pid != 0) return process::Adopt(static_cast<pid_t>(record.pid), record.start_time);
  std::vector<process::Process> found = ProcessesWith(argument + '\0');
  if (found.empty()) return NotFound("no process has the argument {}", argument);
  return std::move(found.front());
}

std::vector<process::Process> ProcessesWith(const std::string& beginning) {
  const std::string argument_start = '\0' + beginning;
  std::vector<process::Process> processes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
    if (ReadProcFile(entry.path() / "cmdline").find(argument_start) == std::string::npos) continue;
    if (auto found = process::AdoptAny(pid); found) processes.push_back(std::move(*found));
  }
  return processes;
}

}  // namespace longshore::fleet::processes
