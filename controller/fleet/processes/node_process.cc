#include "controller/fleet/processes/node_process.h"

#include <algorithm>
#include <utility>

#include "common/base/doubled_wait.h"
#include "common/os/log.h"
#include "common/os/log_file.h"

namespace longshore::fleet::processes {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::string ExpandNodeName(const std::string& node, std::string flag) {
  constexpr std::string_view kNode = "{node}";
  for (size_t at = flag.find(kNode); at != std::string::npos; at = flag.find(kNode, at + node.size())) {
    flag.replace(at, kNode.size(), node);
  }
  return flag;
}

std::string_view NameOf(std::string_view flag) { return flag.substr(0, flag.find('=')); }

process::SpawnOptions CommandOf(const ProcessOptions& options, const Spec& spec, const Sockets& sockets,
                                const NodeInfo& node) {
  const NodePaths paths(options.state_dir, node.node);
  process::SpawnOptions command;
  command.argv = {options.node_binary.string(),
                  "--controller=" + options.controller,
                  "--fleet=" + spec.fleet,
                  "--node=" + node.node,
                  paths.StateDirArgument(),
                  "--grpc_listen_fd=3",
                  "--rest_listen_fd=4",
                  fmt::format("--connection_age_max_ms={}",
                              std::chrono::duration_cast<milliseconds>(spec.connection_age_max).count()),
                  "--peer_address=unix:" + paths.peer_socket.string(),
                  "--peers=unix:" + NodePaths(options.state_dir, "*").peer_socket.string(),
                  "--admin_port=0",
                  "--port_file=" + paths.ports.string(),
                  "--log_level=" + options.node_log_level,
                  "--log_file=" + paths.log.string()};
  for (const std::string& flag : options.node_flags) command.argv.push_back("--" + ExpandNodeName(node.node, flag));
  command.env = options.node_environment;
  command.descriptors = {{3, sockets.grpc.get()}, {4, sockets.rest.get()}};
  command.log_file = paths.log;
  command.new_session = true;
  return command;
}

}  // namespace

Status CheckNodeFlags(const ProcessOptions& options) {
  ProcessOptions bare = options;
  bare.node_flags.clear();
  const std::vector<std::string> given = CommandOf(bare, {}, {}, {}).argv;
  for (const std::string& flag : options.node_flags) {
    const std::string_view name = NameOf(flag);
    if (name.empty() || name.starts_with('-')) {
      return InvalidArgument("--node_flag={}: must be NAME=VALUE or NAME, without dashes", flag);
    }
    const auto is_same = [&](const std::string& own) { return own.starts_with("--") && NameOf(own).substr(2) == name; };
    if (std::ranges::any_of(given, is_same))
      return InvalidArgument("--node_flag={}: the controller sets --{} itself", flag, name);
  }
  return {};
}

void SetRecordProblem(const Status& written, NodeInfo& info) {
  info.trouble = written ? "" : fmt::format("the node's record cannot be written: {}", written.error().message);
  if (!written) spdlog::error("node {}: {}", info.node, info.trouble);
}

Status RemoveDir(const NodePaths& paths) {
  std::error_code error;
  std::filesystem::remove_all(paths.dir, error);
  if (error) return Unavailable("cannot remove {}: {}", paths.dir.string(), error.message());
  return {};
}

std::optional<NodeProcess> TakeOver(const ProcessOptions& options, const NodeRecord& record, TimePoint now) {
  const NodePaths paths(options.state_dir, record.node);
  NodeProcess node;
  node.fleet = record.fleet;
  node.info.node = record.node;
  node.info.started_at = now;
  node.began = steady_clock::now();
  auto found = FindProcess(record, paths.StateDirArgument());
  if (!found && record.stopping) {
    if (const Status removed = RemoveDir(paths); !removed) spdlog::error("{}", removed.error().message);
    return std::nullopt;
  }
  if (!found) {
    spdlog::warn("node {} of fleet {} has ended and will be restarted", record.node, record.fleet);
    node.info.state = NodeState::kBackingOff;
    node.start_again_at = node.began;
    return node;
  }
  spdlog::info("took over node {} of fleet {}, which runs as process {}", record.node, record.fleet, found->pid());
  node.info.pid = found->pid();
  node.info.state = record.stopping ? NodeState::kStopping : NodeState::kRunning;
  node.process.emplace(std::move(*found));
  SetRecordProblem(
      WriteRecord(paths, {record.fleet, record.node, node.info.pid, node.process->start_time(), record.stopping}),
      node.info);
  return node;
}

Status Run(const ProcessOptions& options, const Spec& spec, const Sockets& sockets, TimePoint now, NodeProcess& node) {
  const std::string& name = node.info.node;
  const NodePaths paths(options.state_dir, name);
  std::error_code error;
  std::filesystem::create_directories(paths.dir, error);
  if (error) return Unavailable("cannot create {}: {}", paths.dir.string(), error.message());
  std::filesystem::remove(paths.ports, error);
  // Writes the record, without a pid, before it starts the process. A process without a recorded pid is found by its
  // argument.
  RETURN_IF_ERROR(WriteRecord(paths, {node.fleet, name, 0, 0, false}));
  if (const Status kept = KeepLogOfLastRun(LogPaths(paths.log)); !kept) spdlog::error("{}", kept.error().message);
  ASSIGN_OR_RETURN(process::Process started, process::Spawn(CommandOf(options, spec, sockets, node.info)));
  node.info.pid = started.pid();
  node.info.state = NodeState::kRunning;
  node.info.started_at = now;
  node.began = steady_clock::now();
  node.answered_at.reset();
  const uint64_t start_time = started.start_time();
  node.process.emplace(std::move(started));
  spdlog::info("started node {} of fleet {} as process {}", name, node.fleet, node.info.pid);
  const Status written = WriteRecord(paths, {node.fleet, name, node.info.pid, start_time, false});
  SetRecordProblem(written, node.info);  // Not an error: the process can be found by its argument.
  return {};
}

void BackOff(const ProcessOptions& options, const process::Exit& exit, NodeProcess& node) {
  const auto lived = steady_clock::now() - node.began;
  // An exit with code 0 before `backoff_min` counts as a crash.
  const bool was_requested = exit.ok() && lived >= options.backoff_min;
  if (was_requested || lived >= options.healthy_after) node.crashes_in_a_row = 0;
  const milliseconds pause = DoubledWait(options.backoff_min, options.backoff_max, node.crashes_in_a_row);
  if (!was_requested) {
    ++node.crashes_in_a_row;
    ++node.info.crashes;
  }
  node.info.last_exit =
      std::exchange(node.hung, false) ? "did not answer and was ended by the controller" : ToString(exit);
  node.info.state = NodeState::kBackingOff;
  node.info.pid = 0;
  node.process.reset();
  node.start_again_at = steady_clock::now() + pause;
  spdlog::log(was_requested ? spdlog::level::info : spdlog::level::err,
              "node {} of fleet {} {}; it will be restarted in {} ms; its log is {}", node.info.node, node.fleet,
              node.info.last_exit, pause.count(), NodePaths(options.state_dir, node.info.node).log.string());
}

}  // namespace longshore::fleet::processes
