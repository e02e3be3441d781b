#include "controller/fleet/processes/process_fleet.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "common/log.h"
#include "common/process/descriptors.h"
#include "common/process/process.h"
#include "controller/fleet/processes/node_record.h"

namespace longshore::fleet {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kSocketPathMax = 107;

struct Sockets {
  process::Descriptor grpc;
  process::Descriptor rest;
};

struct Node {
  std::string fleet;
  NodeInfo info;
  std::optional<process::Process> process;  // Nothing while it backs off.
  steady_clock::time_point began;
  steady_clock::time_point start_again_at;
  int crashes_in_a_row = 0;
};

struct Group {
  Spec spec;
  std::optional<Sockets> sockets;
  Addresses addresses;
};

void SetTrouble(const Status& written, NodeInfo& info) {
  info.trouble = written ? "" : fmt::format("it is not written down: {}", written.error().message);
  if (!written) spdlog::error("node {}: {}", info.node, info.trouble);
}

class ProcessFleet final : public Fleet {
 public:
  ProcessFleet(ProcessOptions options, const Clock& clock, OnChange on_change)
      : options_(std::move(options)), clock_(clock), on_change_(std::move(on_change)), wake_(eventfd(0, EFD_CLOEXEC)) {
    CHECK(wake_.valid());
    TakeOver();
    watcher_ = std::thread([this] { Watch(); });
  }
  // The processes stay.
  ~ProcessFleet() override {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
    }
    Wake();
    watcher_.join();
  }

  Result<Addresses> EnsureListening(const Spec& spec) override;
  Status Start(const std::string& fleet, const std::string& node) override;
  Status Stop(const std::string& fleet, const std::string& node) override;
  std::vector<NodeInfo> Nodes(const std::string& fleet) const override;
  std::vector<std::string> Fleets() const override;
  Status Forget(const std::string& fleet) override;

 private:
  void TakeOver();
  void AskForSockets(const std::string& fleet, Group& group);
  Status Bind(const Spec& spec, Group& group);
  Status Run(const std::string& name, Node& node);
  process::SpawnOptions Command(const NodePaths& paths, const std::string& name, const Node& node) const;
  std::set<std::string> NodesOf(const std::string& fleet, bool leaving) const;

  void Watch();
  std::vector<std::string> Look();
  void Ended(const std::string& name, Node& node, const process::Exit& exit);
  milliseconds UntilNextStart() const;
  void Wake() const { eventfd_write(wake_.get(), 1); }

  const ProcessOptions options_;
  const Clock& clock_;
  const OnChange on_change_;
  const process::Descriptor wake_;
  mutable std::mutex mutex_;
  bool ending_ = false;
  std::map<std::string, Group> groups_;  // By fleet.
  std::map<std::string, Node> nodes_;    // By name, which is unique in the state directory.
  std::thread watcher_;
};

void ProcessFleet::TakeOver() {
  for (const NodeRecord& record : ReadRecords(options_.state_dir)) {
    const NodePaths paths(options_.state_dir, record.node);
    Node node;
    node.fleet = record.fleet;
    node.info.node = record.node;
    node.info.started_at = clock_.Now();
    node.began = steady_clock::now();
    auto found = FindProcess(record, paths.StateDirArgument());
    if (!found && record.stopping) {
      std::filesystem::remove_all(paths.dir);
      continue;
    }
    if (found) {
      spdlog::info("node {} of fleet {} goes on as process {}", record.node, record.fleet, found->pid());
      node.info.pid = found->pid();
      node.info.state = record.stopping ? NodeState::kStopping : NodeState::kRunning;
      node.process.emplace(std::move(*found));
      const Status written = WriteRecord(paths, {record.fleet, record.node, node.info.pid, node.process->start_time(),
                                                 record.stopping});
      SetTrouble(written, node.info);
    } else {
      spdlog::warn("node {} of fleet {} is gone and will be started again", record.node, record.fleet);
      node.info.state = NodeState::kBackingOff;
      node.start_again_at = node.began;
    }
    groups_[record.fleet];
    nodes_.emplace(record.node, std::move(node));
  }
}

Result<Addresses> ProcessFleet::EnsureListening(const Spec& spec) {
  const std::scoped_lock lock(mutex_);
  Group& group = groups_[spec.fleet];
  if (!group.sockets) AskForSockets(spec.fleet, group);
  if (!group.sockets) RETURN_IF_ERROR(Bind(spec, group));
  group.spec = spec;
  const int grpc_port = process::LocalPort(group.sockets->grpc.get()).value_or(0);
  const int rest_port = process::LocalPort(group.sockets->rest.get()).value_or(0);
  if ((spec.grpc_port != 0 && spec.grpc_port != grpc_port) || (spec.rest_port != 0 && spec.rest_port != rest_port)) {
    return FailedPrecondition("the ports of a running fleet cannot change: it listens on {} and {}, not on {} and {}",
                              grpc_port, rest_port, spec.grpc_port, spec.rest_port);
  }
  group.addresses = {fmt::format("{}:{}", options_.host, grpc_port), fmt::format("{}:{}", options_.host, rest_port)};
  Wake();  // Nodes may be waiting for the sockets.
  return group.addresses;
}

void ProcessFleet::AskForSockets(const std::string& fleet, Group& group) {
  for (const std::string& name : NodesOf(fleet, false)) {
    if (!nodes_.at(name).process) continue;
    const auto connected = process::ConnectUnix(NodePaths(options_.state_dir, name).handover_socket);
    if (!connected) continue;
    const process::Descriptor connection(*connected);
    const auto received = process::ReceiveDescriptors(connection.get(), 2, options_.handover_timeout_ms);
    if (received && received->size() == 2) {
      group.sockets = Sockets{process::Descriptor((*received)[0]), process::Descriptor((*received)[1])};
      spdlog::info("node {} handed the listening sockets of fleet {} over", name, fleet);
      return;
    }
    spdlog::warn("node {} did not hand its listening sockets over: {}", name,
                 received ? "it sent one" : received.error().message);
    if (received) close(received->front());
  }
}

Status ProcessFleet::Bind(const Spec& spec, Group& group) {
  for (const std::string& name : NodesOf(spec.fleet, false)) {
    // A node that has just been started has nothing to hand over yet; its sockets are better than new ones.
    if (nodes_.at(name).process) return Unavailable("node {} has not handed its listening sockets over yet", name);
  }
  ASSIGN_OR_RETURN(const int grpc, process::ListenTcp(options_.host, spec.grpc_port));
  process::Descriptor grpc_socket(grpc);
  ASSIGN_OR_RETURN(const int rest, process::ListenTcp(options_.host, spec.rest_port));
  group.sockets = Sockets{std::move(grpc_socket), process::Descriptor(rest)};
  return {};
}

Status ProcessFleet::Start(const std::string& fleet, const std::string& name) {
  {
    const std::scoped_lock lock(mutex_);
    if (nodes_.contains(name)) return {};
    const auto group = groups_.find(fleet);
    if (group == groups_.end() || !group->second.sockets) {
      return FailedPrecondition("fleet {} does not listen yet", fleet);
    }
    if (nodes_.size() >= options_.nodes_max) return ResourceExhausted("there are {} nodes already", nodes_.size());
    const NodePaths paths(options_.state_dir, name);
    if (paths.handover_socket.native().size() > kSocketPathMax) {
      return InvalidArgument("the path {} is longer than {} bytes: choose a shorter state directory",
                             paths.handover_socket.string(), kSocketPathMax);
    }
    Node node;
    node.fleet = fleet;
    node.info.node = name;
    RETURN_IF_ERROR(Run(name, node));
    nodes_.emplace(name, std::move(node));
  }
  Wake();
  on_change_(fleet);
  return {};
}

Status ProcessFleet::Run(const std::string& name, Node& node) {
  const NodePaths paths(options_.state_dir, name);
  std::error_code error;
  std::filesystem::create_directories(paths.dir, error);
  if (error) return Unavailable("cannot create {}: {}", paths.dir.string(), error.message());
  std::filesystem::remove(paths.ports, error);
  // First the wish, then the process: one that is started but not written down yet is found by its argument.
  RETURN_IF_ERROR(WriteRecord(paths, {node.fleet, name, 0, 0, false}));
  ASSIGN_OR_RETURN(process::Process started, process::Spawn(Command(paths, name, node)));
  node.info.pid = started.pid();
  node.info.state = NodeState::kRunning;
  node.info.started_at = clock_.Now();
  node.began = steady_clock::now();
  const uint64_t start_time = started.start_time();
  node.process.emplace(std::move(started));
  spdlog::info("node {} of fleet {} is started as process {}", name, node.fleet, node.info.pid);
  const Status written = WriteRecord(paths, {node.fleet, name, node.info.pid, start_time, false});
  SetTrouble(written, node.info);  // It is found by its argument.
  return {};
}

process::SpawnOptions ProcessFleet::Command(const NodePaths& paths, const std::string& name, const Node& node) const {
  const Group& group = groups_.at(node.fleet);
  process::SpawnOptions command;
  command.argv = {options_.node_binary.string(),
                  "--controller=" + options_.controller,
                  "--fleet=" + node.fleet,
                  "--node=" + name,
                  paths.StateDirArgument(),
                  "--grpc_listen_fd=3",
                  "--rest_listen_fd=4",
                  fmt::format("--connection_age_max_ms={}",
                              std::chrono::duration_cast<milliseconds>(group.spec.connection_age_max).count()),
                  "--peer_address=unix:" + paths.peer_socket.string(),
                  "--peers=unix:" + NodePaths(options_.state_dir, "*").peer_socket.string(),
                  "--admin_port=0",
                  "--port_file=" + paths.ports.string(),
                  "--log_level=" + options_.node_log_level};
  command.env = options_.node_environment;
  command.descriptors = {{3, group.sockets->grpc.get()}, {4, group.sockets->rest.get()}};
  command.log_file = paths.log;
  command.new_session = true;
  return command;
}

Status ProcessFleet::Stop(const std::string& fleet, const std::string& name) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = nodes_.find(name);
    if (found == nodes_.end() || found->second.info.state == NodeState::kStopping) return {};
    Node& node = found->second;
    const NodePaths paths(options_.state_dir, name);
    if (node.process) {
      RETURN_IF_ERROR(WriteRecord(paths, {fleet, name, node.info.pid, node.process->start_time(), true}));
      spdlog::info("node {} of fleet {} is told to leave", name, fleet);
      (void)node.process->Signal(SIGTERM);  // One that has ended meanwhile is what was wanted.
      node.info.state = NodeState::kStopping;
    } else {
      std::filesystem::remove_all(paths.dir);
      nodes_.erase(found);
    }
  }
  on_change_(fleet);
  return {};
}

std::vector<NodeInfo> ProcessFleet::Nodes(const std::string& fleet) const {
  const std::scoped_lock lock(mutex_);
  std::vector<NodeInfo> infos;
  for (const auto& [_, node] : nodes_) {
    if (node.fleet == fleet) infos.push_back(node.info);
  }
  return infos;
}

std::set<std::string> ProcessFleet::NodesOf(const std::string& fleet, bool leaving) const {
  std::set<std::string> names;
  for (const auto& [name, node] : nodes_) {
    if (node.fleet == fleet && (node.info.state == NodeState::kStopping) == leaving) names.insert(name);
  }
  return names;
}

std::vector<std::string> ProcessFleet::Fleets() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> fleets;
  for (const auto& [fleet, _] : groups_) fleets.push_back(fleet);
  return fleets;
}

Status ProcessFleet::Forget(const std::string& fleet) {
  const std::scoped_lock lock(mutex_);
  for (const auto& [name, node] : nodes_) {
    if (node.fleet == fleet) return FailedPrecondition("fleet {} still has the node {}", fleet, name);
  }
  groups_.erase(fleet);
  return {};
}

void ProcessFleet::Watch() {
  for (;;) {
    std::vector<pollfd> waiting = {{wake_.get(), POLLIN, 0}};
    milliseconds timeout;
    {
      const std::scoped_lock lock(mutex_);
      if (ending_) return;
      for (const auto& [_, node] : nodes_) {
        if (node.process) waiting.push_back({node.process->pidfd(), POLLIN, 0});
      }
      timeout = UntilNextStart();
    }
    poll(waiting.data(), waiting.size(), static_cast<int>(timeout.count()));
    if (waiting[0].revents != 0) {
      eventfd_t count = 0;
      eventfd_read(wake_.get(), &count);
    }
    for (const std::string& fleet : Look()) on_change_(fleet);
  }
}

milliseconds ProcessFleet::UntilNextStart() const {
  milliseconds soonest{60000};
  for (const auto& [_, node] : nodes_) {
    if (node.process || !groups_.at(node.fleet).sockets) continue;
    const auto left = std::chrono::ceil<milliseconds>(node.start_again_at - steady_clock::now());
    soonest = std::clamp(left, milliseconds(0), soonest);
  }
  return soonest;
}

// Which fleets changed.
std::vector<std::string> ProcessFleet::Look() {
  const std::scoped_lock lock(mutex_);
  std::set<std::string> changed;
  std::vector<std::string> gone;
  for (auto& [name, node] : nodes_) {
    if (node.process) {
      const auto exit = node.process->Wait(milliseconds(0));
      if (!exit) continue;
      changed.insert(node.fleet);
      if (node.info.state == NodeState::kStopping) {
        spdlog::info("node {} of fleet {} has left: it {}", name, node.fleet, ToString(*exit));
        gone.push_back(name);
      } else {
        Ended(name, node, *exit);
      }
    } else if (groups_.at(node.fleet).sockets && steady_clock::now() >= node.start_again_at) {
      const Status run = Run(name, node);
      if (!run) {
        spdlog::error("node {} cannot be started: {}", name, run.error().message);
        node.info.trouble = fmt::format("it cannot be started: {}", run.error().message);
        node.start_again_at = steady_clock::now() + options_.backoff_max;
      }
      changed.insert(node.fleet);
    }
  }
  for (const std::string& name : gone) {
    nodes_.erase(name);
    // What it held is stale when a node of this name starts the next time.
    std::error_code ignored;
    std::filesystem::remove_all(NodePaths(options_.state_dir, name).dir, ignored);
  }
  return {changed.begin(), changed.end()};
}

void ProcessFleet::Ended(const std::string& name, Node& node, const process::Exit& exit) {
  if (steady_clock::now() - node.began >= options_.healthy_after) node.crashes_in_a_row = 0;
  constexpr int kDoublingsMax = 16;
  const milliseconds pause =
      std::min(options_.backoff_max, options_.backoff_min * (1 << std::min(node.crashes_in_a_row, kDoublingsMax)));
  ++node.crashes_in_a_row;
  ++node.info.crashes;
  node.info.last_exit = ToString(exit);
  node.info.state = NodeState::kBackingOff;
  node.info.pid = 0;
  node.process.reset();
  node.start_again_at = steady_clock::now() + pause;
  spdlog::error("node {} of fleet {} {}; it is started again in {} ms; its log is {}", name, node.fleet,
                node.info.last_exit, pause.count(), NodePaths(options_.state_dir, name).log.string());
}

}  // namespace

Result<std::unique_ptr<Fleet>> StartProcessFleet(ProcessOptions options, const Clock& clock, OnChange on_change) {
  if (access(options.node_binary.c_str(), X_OK) != 0) {
    return NotFound("there is no program {}; say where it is with --node_binary", options.node_binary.string());
  }
  return std::unique_ptr<Fleet>(new ProcessFleet(std::move(options), clock, std::move(on_change)));
}

}  // namespace longshore::fleet
