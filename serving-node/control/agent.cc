#include "serving-node/control/agent.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "common/node_contract/state_digest.h"
#include "common/os/log.h"
#include "serving-node/control/folders.h"
#include "serving-node/control/heartbeat_monitor.h"
#include "serving-node/control/held_state.h"
#include "serving-node/control/outbox.h"
#include "serving-node/control/peer_state.h"
#include "serving-node/control/report.h"
#include "serving-node/control/session.h"
#include "serving-node/models/model_store.h"

namespace longshore::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::string RandomIncarnation() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// Randomizes half of the backoff, so that the nodes of a fleet do not reconnect at the same time.
milliseconds Jittered(milliseconds backoff) {
  std::random_device random;
  return backoff / 2 + milliseconds(random() % static_cast<unsigned>(backoff.count() / 2 + 1));
}

class AgentThreads final : public Agent {
 public:
  AgentThreads(AgentOptions options, AgentDeps deps)
      : options_(std::move(options)),
        deps_(std::move(deps)),
        incarnation_(RandomIncarnation()),
        held_(options_.state_dir, options_.fleet, deps_) {}

  ~AgentThreads() override { Stop(); }

  void Stop() override {
    deps_.guards.SetOnTrip(nullptr);
    deps_.sources.SetOnReady(nullptr);
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      if (session_ != nullptr) session_->Cancel();
    }
    changed_.notify_all();
    outbox_->Wake();
    if (thread_.joinable()) thread_.join();
    folders_.reset();
  }

  Status Begin() {
    // The callback shares the ownership of the outbox, because it may run while the agent is destroyed.
    deps_.guards.SetOnTrip([outbox = outbox_](const routing::Trip& trip) {
      outbox->AddEvent(fmt::format("model \"{}\" version {}: the guard {} set its weight to 0: {}", trip.key.model,
                                   trip.key.version, trip.reason, trip.message));
    });
    deps_.sources.SetOnReady([this] {
      held_.ApplyAgain();
      outbox_->Wake();
    });
    RETURN_IF_ERROR(held_.ReadDisk());
    folders_ = std::make_unique<FolderWatch>([this] { return held_.get(); }, deps_.sources, deps_.store,
                                             options_.folder_interval, [outbox = outbox_] { outbox->Wake(); });
    thread_ = std::thread([this] { DialForever(); });
    return {};
  }

  void Wake() override { outbox_->Wake(); }
  void Reconnect() override {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr) return;
    reconnecting_ = true;
    session_->Cancel();
  }
  void SetDraining() override {
    draining_ = true;
    outbox_->Wake();
  }
  void AddEvent(std::string event) override { outbox_->AddEvent(std::move(event)); }
  std::shared_ptr<const DesiredState> state() const override { return held_.get(); }

  bool ready() const override {
    const auto held = held_.get();
    if (!held) return false;
    for (const ModelState& model : held->models()) {
      for (const VersionState& version : model.versions()) {
        if (!version.load() || deps_.router.AppliedWeight(model.served_name(), version.version()) == 0) continue;
        if (deps_.store.Find(model.served_name(), version.version())) continue;
        if (!HasFailed(model.served_name(), version.version()) || !IsOnAPeer(version)) return false;
      }
    }
    return true;
  }

 private:
  bool HasFailed(const std::string& model, int64_t version) const {
    const auto statuses = deps_.store.Statuses(model);
    const auto status = std::ranges::find(statuses, version, &models::VersionStatus::version);
    return status != statuses.end() && status->state == models::State::kFailed;
  }
  // Whether this node can forward requests for the version.
  bool IsOnAPeer(const VersionState& version) const {
    return std::ranges::any_of(version.ready(), [&](const std::string& node) { return node != options_.node; });
  }

  void DialForever() {
    HeartbeatMonitor heartbeats(clock_, options_.report_interval,
                                [this](Duration silent) { OnControllerSilent(silent); });
    auto backoff = options_.backoff_min;
    while (true) {
      const bool received = DialOnce(heartbeats);
      if (stopping()) return;
      if (!received && !held_.get()) AdoptPeerState();
      backoff = received ? options_.backoff_min : std::min(2 * backoff, options_.backoff_max);
      if (!Pause(Jittered(backoff))) return;
    }
  }

  // Opens one stream to the controller. Returns whether a message was received on it.
  bool DialOnce(HeartbeatMonitor& heartbeats) {
    const auto session = Session::Dial(options_.controller);
    if (!session) {
      LogDialError(session.error().message);
      return false;
    }
    if (!SetSession(session->get())) return false;
    const bool received = RunSession(**session, heartbeats);
    ClearSession();
    return received;
  }

  // Logs an error once, even if it occurs many times in a row.
  void LogDialError(const std::string& error) {
    if (std::exchange(last_dial_error_, error) == error) return;
    spdlog::warn("the controller {} is unreachable: {}", options_.controller.target, ForLog(error));
  }

  // Makes this session the current one. Returns false if the agent is stopping.
  bool SetSession(Session* session) {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    session_ = session;
    dialled_at_ = steady_clock::now();
    return true;
  }
  void ClearSession() {
    const std::lock_guard lock(mutex_);
    session_ = nullptr;
  }

  bool Pause(milliseconds time) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, time, [this] { return stopping_; });
  }

  bool stopping() const {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

  void OnControllerSilent(Duration silent) {
    deps_.router.TripIfControllerSilent(silent);
    const std::lock_guard lock(mutex_);
    const bool old = steady_clock::now() - dialled_at_ > options_.stream_silence_max;
    if (session_ != nullptr && old && silent > options_.stream_silence_max) session_->Cancel();
  }

  void AdoptPeerState() {
    auto of_peer = AskPeersForState(options_.peers, options_.fleet, deps_.forwarder);
    if (!of_peer) return;
    const Status adopted = held_.Adopt(*of_peer);
    if (!adopted) return spdlog::warn("cannot use the state of a peer: {}", ToString(adopted.error()));
    spdlog::info("no controller answers: this node starts with the state of a peer, epoch {}", of_peer->epoch());
  }

  // Runs the session until the stream ends. Returns whether a message from the controller was received.
  bool RunSession(Session& session, HeartbeatMonitor& heartbeats) {
    std::atomic<bool> received = false;
    std::atomic<bool> ended = false;
    std::thread reader([&] {
      ReadUntilEnd(session, [&] {
        received = true;
        heartbeats.NoteMessage();
      });
      ended = true;
      outbox_->Wake();
    });
    if (session.Write(HelloMessage())) ReportUntilEnd(session, ended);
    session.Cancel();
    reader.join();
    const ::grpc::Status status = session.Finish();
    if (!received && !stopping()) LogDialError(status.error_message());
    if (received) last_dial_error_.clear();
    if (!reconnecting_.exchange(false) && received && !stopping()) {
      spdlog::warn("the stream to the controller {} ended: {}", options_.controller.target,
                   ForLog(status.error_message()));
    }
    return received;
  }

  FromNode HelloMessage() const {
    FromNode message;
    Hello& hello = *message.mutable_hello();
    hello.set_fleet(options_.fleet);
    hello.set_node(options_.node);
    hello.set_incarnation(incarnation_);
    hello.set_pid(getpid());
    if (deps_.peer_address) hello.set_peer_address(deps_.peer_address());
    hello.set_admin_address(options_.admin_address);
    hello.set_software_version(options_.software_version);
    hello.set_match_rules(true);
    hello.set_moves_connections(true);
    if (const auto held = held_.get()) {
      hello.set_epoch(held->epoch());
      hello.set_revision(held->revision());
      hello.set_state_digest(node_contract::DigestOf(*held));
    }
    return message;
  }

  void ReadUntilEnd(Session& session, const std::function<void()>& received) {
    FromController message;
    while (session.Read(&message)) {
      received();
      if (message.has_heartbeat()) continue;
      if (message.has_move_connections()) {
        deps_.move_connections(message.move_connections());
        continue;
      }
      if (message.has_certificate()) {
        TakeCertificate(message.certificate());
        continue;
      }
      FromNode ack;
      *ack.mutable_ack() = Receive(message);
      if (!session.Write(ack)) return;
    }
  }

  void TakeCertificate(const Certificate& certificate) {
    const Status taken = deps_.identity == nullptr ? Status() : deps_.identity->Take(certificate);
    if (!taken)
      spdlog::error("the certificate for peers was not accepted and will be requested again: {}",
                    ForLog(taken.error().message));
  }

  // Requests a certificate if a request is due. Returns false once the stream has ended.
  bool AskForCertificate(Session& session) {
    const auto request = deps_.identity == nullptr ? std::nullopt : deps_.identity->RequestIfDue();
    if (!request) return true;
    FromNode message;
    message.mutable_certificate_request()->set_request(*request);
    return session.Write(message);
  }

  Ack Receive(const FromController& message) {
    Ack ack;
    ack.set_epoch(message.epoch());
    ack.set_revision(message.revision());
    if (message.has_drain()) {
      SetDraining();
      if (deps_.drain) deps_.drain(message.drain());
    } else if (const auto taken = held_.Receive(message); !taken) {
      spdlog::warn("the desired state of epoch {} revision {} was refused: {}", message.epoch(), message.revision(),
                   ToString(taken.error()));
      ack.set_error(ToString(taken.error()));
    } else {
      outbox_->Wake();
    }
    if (const auto held = held_.get()) ack.set_state_digest(node_contract::DigestOf(*held));
    return ack;
  }

  milliseconds ReportAgainAfter(const DesiredState* held) const {
    const int64_t wanted_ms = held == nullptr ? 0 : held->fleet().report_again_ms();
    return wanted_ms > 0 ? milliseconds(wanted_ms) : options_.report_again;
  }

  void ReportUntilEnd(Session& session, const std::atomic<bool>& ended) {
    std::string last;  // The last report sent, without events.
    steady_clock::time_point sent_at{};
    while (AskForCertificate(session)) {
      outbox_->Await(options_.report_interval);
      if (ended || stopping()) return;
      const auto held = held_.get();
      FromNode message;
      *message.mutable_report() = BuildReport(held ? *held : DesiredState(), folders_->found(), draining_, deps_);
      std::string now = message.SerializeAsString();
      auto events = outbox_->TakeEvents();
      const bool due = steady_clock::now() - sent_at >= ReportAgainAfter(held.get());
      if (now == last && events.empty() && !due) continue;
      for (const std::string& event : events) message.mutable_report()->add_events(event);
      if (!session.Write(message)) return outbox_->PutBack(std::move(events));
      last = std::move(now);
      sent_at = steady_clock::now();
    }
  }

  const AgentOptions options_;
  const AgentDeps deps_;
  const std::string incarnation_;
  const std::shared_ptr<Outbox> outbox_ = std::make_shared<Outbox>();
  HeldState held_;
  const SteadyClock clock_;
  std::unique_ptr<FolderWatch> folders_;  // Created before the threads and destroyed after them.
  std::atomic<bool> draining_ = false;
  std::atomic<bool> reconnecting_ = false;
  mutable std::mutex mutex_;  // Guards the members below; never held during calls to other components.
  std::condition_variable changed_;
  std::string last_dial_error_;  // The last error logged; used by the dialling thread only.
  Session* session_ = nullptr;
  steady_clock::time_point dialled_at_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Agent>> Agent::Start(AgentOptions options, AgentDeps deps) {
  auto agent = std::make_unique<AgentThreads>(std::move(options), std::move(deps));
  RETURN_IF_ERROR(agent->Begin());
  return std::unique_ptr<Agent>(std::move(agent));
}

}  // namespace longshore::control
