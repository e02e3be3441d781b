#include "controller/fleet/processes/named_nodes.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "common/os/log.h"
#include "common/os/process/descriptors.h"
#include "controller/fleet/processes/node_process.h"

namespace longshore::fleet::processes {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kSocketPathMax = 107;
// How long a node that has answered is not asked again.
constexpr std::chrono::seconds kAnswerAgeMax{10};

struct Group {
  Spec spec;
  std::optional<Sockets> sockets;
  bool refuses = false;  // Whether StopListening was called.
};

class ProcessNodes final : public NamedNodes {
 public:
  ProcessNodes(ProcessOptions options, const Clock& clock, OnChange on_change)
      : options_(std::move(options)), clock_(clock), on_change_(std::move(on_change)), wake_(eventfd(0, EFD_CLOEXEC)) {
    CHECK(wake_.valid());
    for (const NodeRecord& record : ReadRecords(options_.state_dir)) {
      auto node = TakeOver(options_, record, clock_.Now());
      if (!node) continue;
      groups_[record.fleet];
      nodes_.emplace(record.node, std::move(*node));
    }
    watcher_ = std::thread([this] { Watch(); });
    asker_ = std::thread([this] { AskNodes(); });
  }
  // Does not stop the node processes.
  ~ProcessNodes() override {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
    }
    Wake();
    asked_changed_.notify_one();
    watcher_.join();
    asker_.join();
  }

  Result<Addresses> EnsureListening(const Spec& spec) override;
  Status Start(const std::string& fleet, const std::string& node) override;
  Status Stop(const std::string& fleet, const std::string& node) override;
  std::vector<NodeInfo> Nodes(const std::string& fleet) const override;
  Status Restart(const std::string& fleet, const std::string& name) override;
  std::vector<std::string> Fleets() const override;
  Status StopListening(const std::string& fleet) override;
  Status Forget(const std::string& fleet) override;

 private:
  Result<Sockets> SocketsOf(const Spec& spec) const;
  Result<std::optional<Sockets>> SocketsFromNodes(const std::string& fleet, bool leaving) const;
  Status CheckPorts(const Spec& spec) const;

  void Watch();
  std::vector<std::string> CheckProcesses();
  void AskNodes();
  void TakeAnswer(const std::string& name, int64_t pid, bool answers);
  milliseconds UntilNextStart() const;
  void Wake() const { eventfd_write(wake_.get(), 1); }

  const ProcessOptions options_;
  const Clock& clock_;
  const OnChange on_change_;
  const process::Descriptor wake_;
  mutable std::mutex mutex_;
  bool ending_ = false;
  std::map<std::string, Group> groups_;       // The key is the fleet.
  std::map<std::string, NodeProcess> nodes_;  // The key is the name, unique in the state directory.
  std::set<std::string> asked_;               // Nodes that are to be asked whether they answer.
  std::condition_variable asked_changed_;
  std::thread watcher_;
  std::thread asker_;  // A node that hangs answers after a timeout only, so another thread waits for it.
};

Result<Addresses> ProcessNodes::EnsureListening(const Spec& spec) {
  const std::scoped_lock lock(mutex_);
  Group& group = groups_[spec.fleet];
  if (!group.sockets) {
    RETURN_IF_ERROR(CheckPorts(spec));
    ASSIGN_OR_RETURN(group.sockets, SocketsOf(spec));
  }
  group.spec = spec;
  group.refuses = false;
  ASSIGN_OR_RETURN(Addresses addresses, AddressesOf(*group.sockets, options_.host, spec));
  Wake();  // Nodes may be waiting for the sockets.
  return addresses;
}

// Returns the sockets of a running node, or new ones if no node of the fleet runs.
Result<Sockets> ProcessNodes::SocketsOf(const Spec& spec) const {
  ASSIGN_OR_RETURN(std::optional<Sockets> sockets, SocketsFromNodes(spec.fleet, false));
  if (sockets) return std::move(*sockets);
  return BindSockets(options_.host, spec);
}

// Returns the sockets of a node that is leaving, or of one that is not; nullopt without such a node.
Result<std::optional<Sockets>> ProcessNodes::SocketsFromNodes(const std::string& fleet, bool leaving) const {
  std::string error;
  for (const auto& [name, node] : nodes_) {
    if (node.fleet != fleet || IsLeaving(node.info) != leaving || !node.process) continue;
    Result<Sockets> sockets = ReceiveSockets(NodePaths(options_.state_dir, name), options_.handover_timeout_ms);
    if (!sockets) {
      error = fmt::format("cannot get the listening sockets from node {} yet: {}", name, sockets.error().message);
      continue;
    }
    spdlog::info("received the listening sockets of fleet {} from node {}", fleet, name);
    return std::move(*sockets);
  }
  // A node that has just started cannot pass its sockets on yet. Waiting for them is better than binding new ones.
  if (!error.empty()) return Unavailable("{}", error);
  return std::nullopt;
}

// Returns FailedPrecondition if another fleet listens on one of the ports.
Status ProcessNodes::CheckPorts(const Spec& spec) const {
  for (const auto& [fleet, group] : groups_) {
    if (fleet == spec.fleet || !group.sockets) continue;
    for (const int fd : {group.sockets->grpc.get(), group.sockets->rest.get()}) {
      const int port = process::LocalPort(fd).value_or(0);
      if (port == 0 || (port != spec.grpc_port && port != spec.rest_port)) continue;
      return FailedPrecondition("spec.ports.{}: port {} on {} is in use by fleet {}; choose another port there",
                                port == spec.grpc_port ? "grpc" : "rest", port, options_.host, fleet);
    }
  }
  return {};
}

Status ProcessNodes::Start(const std::string& fleet, const std::string& name) {
  {
    const std::scoped_lock lock(mutex_);
    if (nodes_.contains(name)) return {};
    const auto group = groups_.find(fleet);
    if (group == groups_.end() || !group->second.sockets) {
      return FailedPrecondition("fleet {} does not listen yet", fleet);
    }
    if (nodes_.size() >= options_.nodes_max)
      return ResourceExhausted("cannot start node {}: {} nodes exist, which is the limit", name, nodes_.size());
    const NodePaths paths(options_.state_dir, name);
    if (paths.handover_socket.native().size() > kSocketPathMax) {
      return InvalidArgument("the path {} is longer than {} bytes: choose a shorter state directory",
                             paths.handover_socket.string(), kSocketPathMax);
    }
    NodeProcess node;
    node.fleet = fleet;
    node.info.node = name;
    RETURN_IF_ERROR(Run(options_, group->second.spec, *group->second.sockets, clock_.Now(), node));
    nodes_.emplace(name, std::move(node));
  }
  Wake();
  on_change_(fleet);
  return {};
}

Status ProcessNodes::Stop(const std::string& fleet, const std::string& name) {
  Status removed;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = nodes_.find(name);
    if (found == nodes_.end() || found->second.info.state == NodeState::kStopping) return {};
    NodeProcess& node = found->second;
    const NodePaths paths(options_.state_dir, name);
    if (node.process) {
      // The node leaves even if its record cannot be written, for example because the disk is full.
      SetRecordProblem(WriteRecord(paths, {fleet, name, node.info.pid, node.process->start_time(), true}), node.info);
      spdlog::info("asked node {} of fleet {} to leave", name, fleet);
      (void)node.process->Signal(SIGTERM);  // An error means that the process has already ended.
      node.info.state = NodeState::kStopping;
    } else {
      nodes_.erase(found);
      removed = RemoveDir(paths);
    }
  }
  on_change_(fleet);
  return removed;
}

// A node whose stream to the controller is broken still serves, so it is asked before its process is ended.
Status ProcessNodes::Restart(const std::string& fleet, const std::string& name) {
  const std::scoped_lock lock(mutex_);
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || found->second.fleet != fleet || !found->second.process || IsLeaving(found->second.info))
    return {};
  const NodeProcess& node = found->second;
  if (node.answered_at && steady_clock::now() - *node.answered_at < kAnswerAgeMax)
    return FailedPrecondition("node {} has no stream to the controller, but answers", name);
  asked_.insert(name);
  asked_changed_.notify_one();
  return {};
}

void ProcessNodes::AskNodes() {
  std::unique_lock lock(mutex_);
  for (;;) {
    asked_changed_.wait(lock, [&] { return ending_ || !asked_.empty(); });
    if (ending_) return;
    const std::string name = *asked_.begin();
    const auto found = nodes_.find(name);
    const std::string fleet = found == nodes_.end() ? "" : found->second.fleet;
    const int64_t pid = found == nodes_.end() ? 0 : found->second.info.pid;
    lock.unlock();
    const bool answers = ReceiveSockets(NodePaths(options_.state_dir, name), options_.handover_timeout_ms).has_value();
    lock.lock();
    asked_.erase(name);
    TakeAnswer(name, pid, answers);
    lock.unlock();
    if (!fleet.empty()) on_change_(fleet);
    lock.lock();
  }
}

// The process may have ended or been asked to leave while it was asked.
void ProcessNodes::TakeAnswer(const std::string& name, int64_t pid, bool answers) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || found->second.info.pid != pid || !found->second.process || IsLeaving(found->second.info))
    return;
  NodeProcess& node = found->second;
  if (answers) {
    node.answered_at = steady_clock::now();
    return;
  }
  spdlog::error("node {} of fleet {} does not answer: its process {} is ended and restarted", name, node.fleet, pid);
  node.hung = true;
  (void)node.process->Signal(SIGKILL);  // An error means that the process has already ended.
}

std::vector<NodeInfo> ProcessNodes::Nodes(const std::string& fleet) const {
  const std::scoped_lock lock(mutex_);
  std::vector<NodeInfo> infos;
  for (const auto& [_, node] : nodes_) {
    if (node.fleet == fleet) infos.push_back(node.info);
  }
  return infos;
}

std::vector<std::string> ProcessNodes::Fleets() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> fleets;
  for (const auto& [fleet, _] : groups_) fleets.push_back(fleet);
  return fleets;
}

Status ProcessNodes::StopListening(const std::string& fleet) {
  const std::scoped_lock lock(mutex_);
  const auto group = groups_.find(fleet);
  if (group == groups_.end() || group->second.refuses) return {};
  std::optional<Sockets>& sockets = group->second.sockets;
  if (!sockets) {  // They were handed to the leaving nodes by an earlier controller.
    ASSIGN_OR_RETURN(sockets, SocketsFromNodes(fleet, true));
  }
  if (sockets) RefuseConnections(*sockets);
  sockets.reset();
  group->second.refuses = true;
  spdlog::info("fleet {} refuses new connections", fleet);
  return {};
}

Status ProcessNodes::Forget(const std::string& fleet) {
  const std::scoped_lock lock(mutex_);
  for (const auto& [name, node] : nodes_) {
    if (node.fleet == fleet) return FailedPrecondition("fleet {} still has the node {}", fleet, name);
  }
  groups_.erase(fleet);
  return {};
}

void ProcessNodes::Watch() {
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
    for (const std::string& fleet : CheckProcesses()) on_change_(fleet);
  }
}

milliseconds ProcessNodes::UntilNextStart() const {
  milliseconds soonest{60000};
  for (const auto& [_, node] : nodes_) {
    if (node.process || !groups_.at(node.fleet).sockets) continue;
    const auto left = std::chrono::ceil<milliseconds>(node.start_again_at - steady_clock::now());
    soonest = std::clamp(left, milliseconds(0), soonest);
  }
  return soonest;
}

// Handles processes that have ended, and starts those whose pause is over. Returns the fleets that changed.
std::vector<std::string> ProcessNodes::CheckProcesses() {
  const std::scoped_lock lock(mutex_);
  std::set<std::string> changed;
  std::vector<std::string> left;
  for (auto& [name, node] : nodes_) {
    if (node.process) {
      const auto exit = node.process->Wait(milliseconds(0));
      if (!exit) continue;
      changed.insert(node.fleet);
      if (node.info.state == NodeState::kStopping) {
        spdlog::info("node {} of fleet {} has left: it {}", name, node.fleet, ToString(*exit));
        left.push_back(name);
      } else {
        BackOff(options_, *exit, node);
      }
    } else if (const Group& group = groups_.at(node.fleet);
               group.sockets && steady_clock::now() >= node.start_again_at) {
      const Status run = Run(options_, group.spec, *group.sockets, clock_.Now(), node);
      if (!run) {
        spdlog::error("cannot start node {} of fleet {}: {}", name, node.fleet, run.error().message);
        node.info.trouble = fmt::format("the node cannot be started: {}", run.error().message);
        node.start_again_at = steady_clock::now() + options_.backoff_max;
      }
      changed.insert(node.fleet);
    }
  }
  for (const std::string& name : left) {
    nodes_.erase(name);
    // Removes the node's state, which would be outdated when a node of this name starts again.
    const Status removed = RemoveDir(NodePaths(options_.state_dir, name));
    if (!removed) spdlog::error("{}", removed.error().message);
  }
  return {changed.begin(), changed.end()};
}

}  // namespace

Result<std::unique_ptr<NamedNodes>> StartNamedNodes(ProcessOptions options, const Clock& clock, OnChange on_change) {
  RETURN_IF_ERROR(CheckNodeFlags(options));
  if (access(options.node_binary.c_str(), X_OK) != 0) {
    return NotFound("cannot execute {}; set the path of longshore-node with --node_binary",
                    options.node_binary.string());
  }
  return std::unique_ptr<NamedNodes>(new ProcessNodes(std::move(options), clock, std::move(on_change)));
}

}  // namespace longshore::fleet::processes
