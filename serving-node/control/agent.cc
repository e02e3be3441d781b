#include "serving-node/control/agent.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "common/fleet/state_digest.h"
#include "common/log.h"
#include "serving-node/control/folders.h"
#include "serving-node/control/held_state.h"
#include "serving-node/control/outbox.h"
#include "serving-node/control/peer_state.h"
#include "serving-node/control/report.h"
#include "serving-node/control/session.h"
#include "serving-node/control/silence.h"
#include "serving-node/models/model_store.h"

namespace longshore::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::string RandomIncarnation() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// Half of the backoff by chance, so that a fleet does not come back at once.
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
    // A trip that is told while the agent ends has the outbox still.
    deps_.guards.SetOnTrip([outbox = outbox_](const routing::Trip& trip) {
      outbox->AddEvent(fmt::format("model \"{}\" version {}: weight 0 by the guard {}: {}", trip.key.model,
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
  void SayHelloAgain() override {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr) return;
    says_hello_again_ = true;
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
        if (!deps_.store.Find(model.served_name(), version.version())) return false;
      }
    }
    return true;
  }

 private:
  void DialForever() {
    SilenceWatch silence(clock_, options_.report_interval, [this](Duration silent) { OnSilence(silent); });
    auto backoff = options_.backoff_min;
    while (true) {
      const bool heard = DialOnce(silence);
      if (stopping()) return;
      if (!heard && !held_.get()) AskPeers();
      backoff = heard ? options_.backoff_min : std::min(2 * backoff, options_.backoff_max);
      if (!Pause(Jittered(backoff))) return;
    }
  }

  // Whether a controller was heard.
  bool DialOnce(SilenceWatch& silence) {
    const auto session = Session::Dial(options_.controller);
    if (!session) {
      NoteTrouble(session.error().message);
      return false;
    }
    if (!Enter(session->get())) return false;
    const bool heard = Converse(**session, silence);
    Leave();
    return heard;
  }

  // Said once, however often it is met in a row.
  void NoteTrouble(const std::string& trouble) {
    if (std::exchange(dial_trouble_, trouble) == trouble) return;
    spdlog::warn("the controller {} is not to be had: {}", options_.controller.target, ForLog(trouble));
  }

  // False: stop.
  bool Enter(Session* session) {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    session_ = session;
    dialled_at_ = steady_clock::now();
    return true;
  }
  void Leave() {
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

  void OnSilence(Duration silent) {
    deps_.router.CheckSilence(silent);
    const std::lock_guard lock(mutex_);
    const bool old = steady_clock::now() - dialled_at_ > options_.stream_silence_max;
    if (session_ != nullptr && old && silent > options_.stream_silence_max) session_->Cancel();
  }

  void AskPeers() {
    auto of_peer = AskPeersForState(options_.peers, options_.fleet, deps_.forwarder);
    if (!of_peer) return;
    const Status adopted = held_.Adopt(*of_peer);
    if (!adopted) return spdlog::warn("the state of a peer: {}", ToString(adopted.error()));
    spdlog::info("no controller answers: this node begins with the state of a peer, epoch {}", of_peer->epoch());
  }

  // Until the stream ends. Whether a controller was heard.
  bool Converse(Session& session, SilenceWatch& silence) {
    std::atomic<bool> heard = false;
    std::atomic<bool> ended = false;
    std::thread reader([&] {
      ReadUntilEnd(session, [&] {
        heard = true;
        silence.Heard();
      });
      ended = true;
      outbox_->Wake();
    });
    if (session.Write(HelloMessage())) ReportUntilEnd(session, ended);
    session.Cancel();
    reader.join();
    const ::grpc::Status status = session.Finish();
    if (!heard && !stopping()) NoteTrouble(status.error_message());
    if (heard) dial_trouble_.clear();
    if (!says_hello_again_.exchange(false) && heard && !stopping()) {
      spdlog::warn("the controller {} left: {}", options_.controller.target, ForLog(status.error_message()));
    }
    return heard;
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
    if (const auto held = held_.get()) {
      hello.set_epoch(held->epoch());
      hello.set_revision(held->revision());
      hello.set_state_digest(DigestOf(*held));
    }
    return message;
  }

  void ReadUntilEnd(Session& session, const std::function<void()>& heard) {
    FromController message;
    while (session.Read(&message)) {
      heard();
      if (message.has_heartbeat()) continue;
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
    if (!taken) spdlog::error("no certificate for peers, asking again soon: {}", ForLog(taken.error().message));
  }

  // False once the stream has ended.
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
      if (deps_.drain) deps_.drain();
    } else if (const auto taken = held_.Receive(message); !taken) {
      spdlog::warn("epoch {} revision {} refused: {}", message.epoch(), message.revision(), ToString(taken.error()));
      ack.set_error(ToString(taken.error()));
    } else {
      outbox_->Wake();
    }
    if (const auto held = held_.get()) ack.set_state_digest(DigestOf(*held));
    return ack;
  }

  milliseconds ReportAgainAfter(const DesiredState* held) const {
    const int64_t wanted_ms = held == nullptr ? 0 : held->fleet().report_again_ms();
    return wanted_ms > 0 ? milliseconds(wanted_ms) : options_.report_again;
  }

  void ReportUntilEnd(Session& session, const std::atomic<bool>& ended) {
    std::string last;  // What was sent, without events.
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
  std::unique_ptr<FolderWatch> folders_;  // Set before the threads, ends after them.
  std::atomic<bool> draining_ = false;
  std::atomic<bool> says_hello_again_ = false;
  mutable std::mutex mutex_;  // Guards what follows; never held while another part is called.
  std::condition_variable changed_;
  std::string dial_trouble_;  // What was logged last; of the dialling thread.
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
