#include "serving-node/app/node.h"

#include <atomic>
#include <mutex>
#include <thread>

#include "common/log.h"
#include "serving-node/app/alone.h"
#include "serving-node/app/config_files.h"
#include "serving-node/app/doors.h"
#include "serving-node/app/handover.h"
#include "serving-node/app/models.h"
#include "serving-node/app/parts.h"
#include "serving-node/app/peer_door.h"
#include "serving-node/control/agent.h"
#include "serving-node/frontend/admin_server.h"

namespace longshore::app {
namespace {

class ServingNode final : public Node {
 public:
  explicit ServingNode(const Flags& flags) : flags_(flags), connection_age_max_ms_(flags.connection_age_max_ms) {}

  ~ServingNode() override {
    if (drain_.joinable()) drain_.join();
    // A callback may be the last to let the agent go, on one of the agent's own threads.
    if (const auto agent = GetAgent()) agent->Stop();
    SetAgent(nullptr);
  }

  Status Begin() {
    ASSIGN_OR_RETURN(security_, OpenSecurity(flags_));
    ASSIGN_OR_RETURN(Listeners listeners, OpenListeners(flags_));
    ASSIGN_OR_RETURN(
        parts_, BuildParts(flags_, security_, [this](const std::string& model, const models::VersionStatus& status) {
          OnChange(model, status);
        }));
    doors_ = std::make_unique<Doors>(flags_, *parts_, security_, std::move(listeners));
    peer_door_ = std::make_unique<PeerDoor>(flags_, *parts_, security_, [this] { return HeldState(); });
    if (!flags_.managed()) MakeAlone();
    RETURN_IF_ERROR(StartAdmin());
    // The doors open in Tick: what is asked before the models are there waits in the system's backlog, or goes to
    // another node that listens on the same socket.
    RETURN_IF_ERROR(flags_.managed() ? BeginManaged() : alone_->Begin());
    if (flags_.port_file.empty()) return {};
    return WritePortFile(flags_.port_file, doors_->listeners(), admin_->port());
  }

  Status Tick() override {
    admin_->Beat();
    connections_ = static_cast<int64_t>(doors_->connections());
    if (leave_asked_) Leave();
    if (leaving_) return {};
    RETURN_IF_ERROR(OpenToPeers());
    const bool able = WhyUnable().empty();
    const bool opens = alone_ ? alone_->tried() : able;
    if (opens && !doors_->open()) RETURN_IF_ERROR(doors_->Open(connection_age_max_ms_));
    doors_->SetServing(able);
    doors_->SetConnectionAge(connection_age_max_ms_);
    return {};
  }

  void Leave() override {
    if (leaving_.exchange(true)) return;
    spdlog::info("leaving: no new connections; what is under way is answered");
    if (parts_->gate) parts_->gate->Stop();
    if (alone_) alone_->Leave();
    if (const auto agent = GetAgent()) agent->SetDraining();
    drain_ = std::thread([this] {
      Drain();
      left_ = true;
    });
  }

  bool open() const override { return doors_->open(); }
  bool left() const override { return left_; }
  int admin_port() const override { return admin_->port(); }
  const Listeners& listeners() const override { return doors_->listeners(); }

 private:
  void OnChange(const std::string& model, const models::VersionStatus& status) {
    if (status.state == models::State::kFailed) {
      spdlog::error("model \"{}\" version {} failed: {}", model, status.version, status.error.message);
    }
    if (status.state == models::State::kAvailable)
      spdlog::info("model \"{}\" version {} is available", model, status.version);
    if (const auto agent = GetAgent()) agent->Wake();
    if (alone_) alone_->OnChange();
  }

  // Its own lock is not held while it is called: it may be about to call back.
  std::shared_ptr<control::Agent> GetAgent() const {
    const std::lock_guard lock(agent_mutex_);
    return agent_;
  }

  void SetAgent(std::shared_ptr<control::Agent> agent) {
    const std::lock_guard lock(agent_mutex_);
    std::swap(agent, agent_);
  }

  Status StartAdmin() {
    const std::string address = fmt::format("{}:{}", flags_.admin_host, flags_.admin_port);
    auto admin = frontend::AdminServer::Start(address, {.gate = security_.gate,
                                                        .missing = [this] { return WhyNotReady(); },
                                                        .metrics = [this] { return parts_->registry.Text(); },
                                                        .state = [this] { return StateToJson(); },
                                                        .profile = ProfileSourcesOf(*parts_->store, parts_->profiles)});
    if (!admin) return Fail(admin.error().code, "--admin_port={}: {}", flags_.admin_port, admin.error().message);
    admin_ = std::move(*admin);
    return {};
  }

  void MakeAlone() {
    alone_ = std::make_unique<Alone>(flags_, *parts_->store, *parts_->request_log);
    parts_->reload = [this](tensorflow::serving::ModelServerConfig config, Alone::TimePoint deadline,
                            Alone::ReloadDone done) { alone_->Reload(std::move(config), deadline, std::move(done)); };
  }

  Status BeginManaged() {
    const Listeners& listeners = doors_->listeners();
    if (listeners.grpc.valid() && listeners.rest.valid()) {
      ASSIGN_OR_RETURN(
          handover_, Handover::Start(flags_.state_dir / "handover.sock", {listeners.grpc.get(), listeners.rest.get()}));
    }
    RETURN_IF_ERROR(OpenToPeers());
    control::AgentOptions options;
    options.controller = {flags_.controller, flags_.controller_ca_file, flags_.controller_token_file};
    options.fleet = flags_.fleet;
    options.node = flags_.node;
    options.peers = flags_.peers;
    options.admin_address = fmt::format("{}:{}", flags_.admin_host, admin_->port());
    options.software_version = SoftwareVersion();
    options.state_dir = flags_.state_dir;
    ASSIGN_OR_RETURN(std::shared_ptr<control::Agent> agent, control::Agent::Start(options, AgentDeps()));
    SetAgent(std::move(agent));
    return {};
  }

  control::AgentDeps AgentDeps() {
    return {.store = *parts_->store,
            .sources = *parts_->sources,
            .admission = *parts_->admission,
            .router = *parts_->router,
            .guards = *parts_->guards,
            .recorder = parts_->recorder,
            .gate = *parts_->gate,
            .journal = *parts_->journal,
            .forwarder = *parts_->forwarder,
            .clock = parts_->clock,
            .drain = [this] { leave_asked_ = true; },
            .connections = [this] { return connections_.load(); },
            .on_fleet =
                [this](const control::FleetState& fleet) {
                  if (fleet.connection_age_max_ms() > 0) connection_age_max_ms_ = fleet.connection_age_max_ms();
                },
            .peer_address = [this] { return peer_door_->address(); },
            .identity = parts_->identity.get()};
  }

  std::shared_ptr<const control::DesiredState> HeldState() const {
    const auto agent = GetAgent();
    return agent ? agent->state() : nullptr;
  }

  Status OpenToPeers() {
    ASSIGN_OR_RETURN(const bool opened, peer_door_->OpenIfPossible());
    if (const auto agent = GetAgent(); opened && agent) agent->SayHelloAgain();
    return {};
  }

  // Peers go last: until they know that this node leaves, they hand requests to it.
  void Drain() {
    doors_->Drain();
    peer_door_->Drain();
    parts_->request_log->Flush();
    if (parts_->capture) parts_->capture->Flush();
  }

  // What keeps the models from answering.
  std::vector<std::string> WhyUnable() const {
    if (alone_) return alone_->WhyUnable();
    std::vector<std::string> why = Unavailable(*parts_->store);
    const auto agent = GetAgent();
    if (!agent || !agent->state()) return {"no controller told this node yet what to serve"};
    if (agent->ready()) return {};
    if (why.empty()) why.push_back("not every version that should answer here is available yet");
    return why;
  }

  std::vector<std::string> WhyNotReady() const {
    if (leaving_) return {"the node is leaving"};
    std::vector<std::string> why = WhyUnable();
    if (why.empty() && !doors_->open()) why.push_back("the doors are not open yet");
    return why;
  }

  Json StateToJson() const {
    return {{"node", flags_.node},
            {"fleet", flags_.fleet},
            {"peer_address", peer_door_->address()},
            {"software_version", SoftwareVersion()},
            {"leaving", leaving_.load()},
            {"not_ready", WhyNotReady()},
            {"connections", connections_.load()},
            {"load", LoadToJson(parts_->admission->load())},
            {"models", ModelsToJson(*parts_->store)}};
  }

  const Flags flags_;
  Security security_;                           // Set by Begin.
  std::atomic<int64_t> connection_age_max_ms_;  // What the fleet wants, or the flags.
  std::atomic<bool> leave_asked_ = false;
  std::atomic<bool> leaving_ = false;
  std::atomic<bool> left_ = false;
  std::atomic<int64_t> connections_ = 0;
  mutable std::mutex agent_mutex_;  // Guards agent_, not what it points to.
  std::shared_ptr<control::Agent> agent_;
  // Torn down from the bottom up: what takes requests before what answers them.
  std::unique_ptr<Parts> parts_;
  std::unique_ptr<Alone> alone_;
  std::unique_ptr<PeerDoor> peer_door_;
  std::unique_ptr<Handover> handover_;
  std::unique_ptr<Doors> doors_;
  std::unique_ptr<frontend::AdminServer> admin_;
  std::thread drain_;
};

}  // namespace

Result<std::unique_ptr<Node>> Node::Start(const Flags& flags) {
  Flags resolved = flags;
  RETURN_IF_ERROR(ReadConfigFiles(&resolved));
  auto node = std::make_unique<ServingNode>(resolved);
  RETURN_IF_ERROR(node->Begin());
  return node;
}

}  // namespace longshore::app
