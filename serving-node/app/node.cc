#include "serving-node/app/node.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "common/node_contract/connection_choice.h"
#include "common/os/log.h"
#include "common/os/process/descriptors.h"
#include "serving-node/app/client_listeners.h"
#include "serving-node/app/components.h"
#include "serving-node/app/flags/config_files.h"
#include "serving-node/app/handover.h"
#include "serving-node/app/models.h"
#include "serving-node/app/peer_listener.h"
#include "serving-node/app/repository.h"
#include "serving-node/app/standalone.h"
#include "serving-node/control/agent.h"
#include "serving-node/frontend/admin_server.h"

namespace longshore::app {
namespace {

constexpr std::chrono::milliseconds kFlushMax{1000};

class ServingNode final : public Node {
 public:
  explicit ServingNode(const flags::Flags& flags)
      : flags_(flags), connection_age_max_ms_(flags.connection_age_max_ms) {}

  ~ServingNode() override {
    if (drain_.joinable()) drain_.join();
    if (flush_.joinable()) flush_.join();
    // The agent is stopped here because a callback on one of its own threads may release the last reference to it.
    if (const auto agent = GetAgent()) agent->Stop();
    SetAgent(nullptr);
  }

  Status Begin() {
    ASSIGN_OR_RETURN(security_, OpenSecurity(flags_));
    ASSIGN_OR_RETURN(ListeningSockets sockets, OpenListeningSockets(flags_));
    ASSIGN_OR_RETURN(
        components_,
        BuildComponents(flags_, security_, [this](const std::string& model, const models::VersionStatus& status) {
          OnChange(model, status);
        }));
    client_listeners_ = std::make_unique<ClientListeners>(flags_, *components_, security_, std::move(sockets));
    peer_listener_ = std::make_unique<PeerListener>(flags_, *components_, security_, [this] { return HeldState(); });
    if (!flags_.managed()) MakeStandalone();
    AddOip(flags_,
           standalone_ ? MakeRepository(*standalone_, flags_.listeners.enable_reload_requests)
                       : MakeManagedRepository(*components_->router),
           components_.get());
    RETURN_IF_ERROR(StartAdmin());
    // The client listeners open in Tick. Connections that arrive before the models are loaded wait in the system's
    // backlog, or another node that shares the socket accepts them.
    RETURN_IF_ERROR(flags_.managed() ? BeginManaged() : standalone_->Begin());
    if (flags_.port_file.empty()) return {};
    return WritePortFile(flags_.port_file, client_listeners_->sockets(), admin_->port());
  }

  Status Tick() override {
    admin_->Beat();
    connections_ = static_cast<int64_t>(client_listeners_->connections());
    if (leave_asked_) Leave();
    if (leaving_ && fleet_is_gone_.exchange(false)) client_listeners_->EndConnectionsAtOnce();
    if (leaving_) {
      EndInTime();
      return {};
    }
    RETURN_IF_ERROR(OpenToPeers());
    const bool able = WhyUnable().empty();
    const bool opens = standalone_ ? standalone_->loads_ended() : able;
    if (opens && !client_listeners_->open()) RETURN_IF_ERROR(client_listeners_->Open(connection_age_max_ms_));
    client_listeners_->SetServing(able);
    client_listeners_->SetConnectionAge(connection_age_max_ms_);
    MoveConnections();
    return {};
  }

  void Leave() override {
    if (leaving_.exchange(true)) return;
    spdlog::info("shutting down: no new connections are accepted, requests in flight are answered");
    if (components_->gate) components_->gate->Stop();
    if (standalone_) standalone_->Leave();
    if (const auto agent = GetAgent()) agent->SetDraining();
    if (flags_.managed()) components_->router->SetLeaving();
    if (flags_.drain_max_ms > 0)
      drained_by_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(flags_.drain_max_ms);
    drain_ = std::thread([this] { Drain(); });
  }

  bool open() const override { return client_listeners_->open(); }
  bool left() const override { return left_; }
  int admin_port() const override { return admin_->port(); }
  const ListeningSockets& sockets() const override { return client_listeners_->sockets(); }

 private:
  void OnChange(const std::string& model, const models::VersionStatus& status) {
    if (status.state == models::State::kFailed) {
      spdlog::error("model \"{}\" version {} failed: {}", model, status.version, status.error.message);
    }
    if (status.state == models::State::kAvailable)
      spdlog::info("model \"{}\" version {} is available", model, status.version);
    if (const auto agent = GetAgent()) agent->Wake();
    if (standalone_) standalone_->OnChange();
  }

  void OnDrain(const control::DrainNode& drain) { (drain.fleet_is_gone() ? fleet_is_gone_ : leave_asked_) = true; }

  void OnMoveConnections(const control::MoveConnections& moves) {
    const std::lock_guard lock(moves_mutex_);
    moves_ = {.load_share = moves.load_share(),
              .connections_max = static_cast<size_t>(std::max(0, moves.connections_max()))};
  }

  // Does what the newest message asks for, once.
  void MoveConnections() {
    const node_contract::ConnectionLimits limits = TakeMoves();
    if (limits.connections_max == 0) return;
    const size_t asked = client_listeners_->MoveConnections(limits);
    if (asked == 0) return;
    spdlog::info("other nodes have too little work: asked the clients of {} of {} connections to connect again", asked,
                 connections_.load());
  }

  node_contract::ConnectionLimits TakeMoves() {
    const std::lock_guard lock(moves_mutex_);
    return std::exchange(moves_, {});
  }

  // Releases the lock before the caller uses the agent, because the agent may call back into this class.
  std::shared_ptr<control::Agent> GetAgent() const {
    const std::lock_guard lock(agent_mutex_);
    return agent_;
  }

  void SetAgent(std::shared_ptr<control::Agent> agent) {
    const std::lock_guard lock(agent_mutex_);
    std::swap(agent, agent_);
  }

  Result<std::unique_ptr<frontend::AdminServer>> ListenForAdmin(int port) {
    return frontend::AdminServer::Start(process::HostPort(flags_.admin_host, port),
                                        {.gate = security_.gate,
                                         .missing = [this] { return WhyNotReady(); },
                                         .metrics = [this] { return components_->registry.Text(); },
                                         .state = [this] { return StateToJson(); },
                                         .profile = ProfileSourcesOf(*components_->store, components_->profiles)});
  }

  // TensorFlow Serving has no such port, so several of its servers can share a host. For the same to hold here, a port
  // that nobody asked for must not keep the node from starting.
  Status StartAdmin() {
    const int port = flags_.admin_port.value_or(flags::kAdminPort);
    auto admin = ListenForAdmin(port);
    if (!admin && !flags_.admin_port && admin.error().code == Code::kFailedPrecondition) {
      admin = ListenForAdmin(0);
      if (admin) spdlog::warn("the default --admin_port {} is in use: using port {} instead", port, (*admin)->port());
    }
    if (!admin) return Fail(admin.error().code, "--admin_port={}: {}", port, admin.error().message);
    admin_ = std::move(*admin);
    return {};
  }

  void MakeStandalone() {
    standalone_ = std::make_unique<Standalone>(flags_, *components_->store, *components_->request_log);
    components_->reload = [this](tensorflow::serving::ModelServerConfig config, Standalone::TimePoint deadline,
                                 Standalone::ReloadDone done) {
      standalone_->Reload(std::move(config), deadline, std::move(done));
    };
  }

  Status BeginManaged() {
    const ListeningSockets& sockets = client_listeners_->sockets();
    // The node closes its own sockets when it drains, so there must be no copies of them.
    const bool are_shared = flags_.grpc_listen_fd >= 0 && flags_.rest_listen_fd >= 0;
    if (are_shared) {
      ASSIGN_OR_RETURN(handover_,
                       Handover::Start(flags_.state_dir / "handover.sock", {sockets.grpc.get(), sockets.rest.get()}));
    }
    RETURN_IF_ERROR(OpenToPeers());
    control::AgentOptions options;
    options.controller = {flags_.controller, flags_.controller_ca_file, flags_.controller_token_file};
    options.fleet = flags_.fleet;
    options.node = flags_.node;
    options.peers = flags_.peers;
    options.admin_address = process::HostPort(flags_.admin_host, admin_->port());
    options.software_version = flags::SoftwareVersion();
    options.state_dir = flags_.state_dir;
    ASSIGN_OR_RETURN(std::shared_ptr<control::Agent> agent, control::Agent::Start(options, AgentDeps()));
    SetAgent(std::move(agent));
    return {};
  }

  control::AgentDeps AgentDeps() {
    return {.store = *components_->store,
            .sources = *components_->sources,
            .admission = *components_->admission,
            .router = *components_->router,
            .guards = *components_->guards,
            .recorder = components_->recorder,
            .gate = *components_->gate,
            .journal = *components_->journal,
            .forwarder = *components_->forwarder,
            .clock = components_->clock,
            .storage = *components_->storage,
            .desired_state_health = components_->desired_state_health,
            .drain = [this](const control::DrainNode& drain) { OnDrain(drain); },
            .move_connections = [this](const control::MoveConnections& moves) { OnMoveConnections(moves); },
            .connections = [this] { return connections_.load(); },
            .on_fleet =
                [this](const control::FleetState& fleet) {
                  if (fleet.connection_age_max_ms() > 0) connection_age_max_ms_ = fleet.connection_age_max_ms();
                },
            .peer_address = [this] { return peer_listener_->address(); },
            .identity = components_->identity.get(),
            .golden_runs = components_->golden_runs.get()};
  }

  std::shared_ptr<const control::DesiredState> HeldState() const {
    const auto agent = GetAgent();
    return agent ? agent->state() : nullptr;
  }

  Status OpenToPeers() {
    ASSIGN_OR_RETURN(const bool opened, peer_listener_->OpenIfPossible());
    if (const auto agent = GetAgent(); opened && agent) agent->Reconnect();
    return {};
  }

  // The peer listener is drained last: peers forward requests to this node until they know that it shuts down.
  void Drain() {
    client_listeners_->Drain(flags_.drain_max_ms);
    peer_listener_->Drain();
    if (drain_ended_.exchange(true)) return;
    spdlog::info("all connections are closed");
    Flush();
  }

  // Makes the node end a little before it would be killed. The end of the process closes the connections that are left.
  void EndInTime() {
    const auto now = std::chrono::steady_clock::now();
    if (left_ || !drained_by_ || now < *drained_by_) return;
    if (!drain_ended_.exchange(true)) {
      spdlog::warn("the time to drain has passed; connections of clients that are left: {}", connections_.load());
      flush_ = std::thread([this] { Flush(); });
    }
    if (now < *drained_by_ + FlushMax()) return;
    spdlog::warn("the time to write request logs, captured requests and traces has passed: some may be lost");
    left_ = true;
  }

  // Half of the time that a pod has for its end after a drain (controller/api/termination.h).
  std::chrono::milliseconds FlushMax() const {
    return std::min(kFlushMax, std::chrono::milliseconds(flags_.drain_max_ms / 6));
  }

  void Flush() {
    components_->request_log->Flush();
    if (components_->capture) components_->capture->Flush();
    components_->traces.Flush();
    left_ = true;
  }

  // Returns why the models cannot answer; empty if they can.
  std::vector<std::string> WhyUnable() const {
    if (standalone_) return standalone_->WhyUnable();
    std::vector<std::string> why = Unavailable(*components_->store);
    const auto agent = GetAgent();
    if (!agent || !agent->state()) return {"this node has not received a desired state from a controller yet"};
    if (agent->ready()) return {};
    if (why.empty()) why.push_back("not all versions that this node should serve are available yet");
    return why;
  }

  std::vector<std::string> WhyNotReady() const {
    if (leaving_) return {"the node is shutting down"};
    std::vector<std::string> why = WhyUnable();
    if (why.empty() && !client_listeners_->open()) why.push_back("the client listeners are not open yet");
    return why;
  }

  Json StateToJson() const {
    return {{"node", flags_.node},
            {"fleet", flags_.fleet},
            {"peer_address", peer_listener_->address()},
            {"software_version", flags::SoftwareVersion()},
            {"leaving", leaving_.load()},
            {"not_ready", WhyNotReady()},
            {"connections", connections_.load()},
            {"load", LoadToJson(components_->admission->load())},
            {"models", ModelsToJson(*components_->store)},
            {"storage_problems", ProblemsToJson(*components_->storage)}};
  }

  const flags::Flags flags_;
  Security security_;                           // Set by Begin.
  std::atomic<int64_t> connection_age_max_ms_;  // From the fleet's state; until there is one, from the flags.
  std::optional<std::chrono::steady_clock::time_point> drained_by_;  // Set by Leave, if a drain has a limit.
  std::atomic<bool> leave_asked_ = false;
  std::atomic<bool> fleet_is_gone_ = false;  // When the node leaves, it ends its connections at once.
  std::atomic<bool> leaving_ = false;
  std::atomic<bool> drain_ended_ = false;  // Nothing was left, or the time has passed: whichever came first.
  std::atomic<bool> left_ = false;
  std::atomic<int64_t> connections_ = 0;
  std::mutex moves_mutex_;
  node_contract::ConnectionLimits moves_;  // Not carried out yet. Guarded by moves_mutex_.
  mutable std::mutex agent_mutex_;         // Guards agent_, not what it points to.
  std::shared_ptr<control::Agent> agent_;
  // Destroyed from the bottom up: listeners before the components that answer their requests.
  std::unique_ptr<Components> components_;
  std::unique_ptr<Standalone> standalone_;
  std::unique_ptr<PeerListener> peer_listener_;
  std::unique_ptr<Handover> handover_;
  std::unique_ptr<ClientListeners> client_listeners_;
  std::unique_ptr<frontend::AdminServer> admin_;
  std::thread drain_;
  std::thread flush_;  // Runs if the time to drain has passed.
};

}  // namespace

Result<std::unique_ptr<Node>> Node::Start(const flags::Flags& flags) {
  flags::Flags resolved = flags;
  RETURN_IF_ERROR(flags::ReadConfigFiles(&resolved));
  auto node = std::make_unique<ServingNode>(resolved);
  RETURN_IF_ERROR(node->Begin());
  return node;
}

}  // namespace longshore::app
