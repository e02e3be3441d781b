#include "serving-node/control/agent.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include "common/log.h"
#include "longshore/control.grpc.pb.h"
#include "serving-node/control/apply.h"
#include "serving-node/control/desired.h"
#include "serving-node/control/report.h"
#include "serving-node/models/model_store.h"

namespace longshore::control {
namespace {

constexpr size_t kEventsMax = 200;  // Of one report; older ones go.

std::string RandomIncarnation() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

std::shared_ptr<::grpc::Channel> Dial(const std::string& target) {
  ::grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return ::grpc::CreateCustomChannel(target, ::grpc::InsecureChannelCredentials(), arguments);
}

// One stream, from the hello to its end. Reads happen on one thread; writes may come from any.
class Session {
 public:
  explicit Session(const std::string& target)
      : channel_(Dial(target)), stub_(NodeControl::NewStub(channel_)), stream_(stub_->Attach(&context_)) {}

  bool Read(FromController* message) { return stream_->Read(message); }
  bool Write(const FromNode& message) {
    const std::lock_guard lock(write_mutex_);
    return stream_->Write(message);
  }
  void Cancel() { context_.TryCancel(); }
  // Requires: no thread reads or writes any more.
  ::grpc::Status Finish() { return stream_->Finish(); }

 private:
  ::grpc::ClientContext context_;
  std::shared_ptr<::grpc::Channel> channel_;
  std::unique_ptr<NodeControl::Stub> stub_;
  std::unique_ptr<::grpc::ClientReaderWriter<FromNode, FromController>> stream_;
  std::mutex write_mutex_;
};

class AgentThreads final : public Agent {
 public:
  AgentThreads(AgentOptions options, AgentDeps deps)
      : options_(std::move(options)), deps_(std::move(deps)), incarnation_(RandomIncarnation()), heard_at_(deps_.clock.Now()) {}

  ~AgentThreads() override {
    deps_.guards.SetOnTrip(nullptr);
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      if (session_ != nullptr) session_->Cancel();
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  Status Begin() {
    deps_.guards.SetOnTrip([this](const routing::Trip& trip) {
      AddEvent(fmt::format("model \"{}\" version {}: weight 0 by the guard {}: {}", trip.key.model, trip.key.version,
                           trip.reason, trip.message));
    });
    RETURN_IF_ERROR(ServeFromDisk());
    thread_ = std::thread([this] { DialForever(); });
    return {};
  }

  void Wake() override {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
    }
    changed_.notify_all();
  }

  void SetDraining() override {
    {
      const std::lock_guard lock(mutex_);
      draining_ = true;
      woken_ = true;
    }
    changed_.notify_all();
  }

  void AddEvent(std::string event) override {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
      if (events_.size() > kEventsMax) events_.pop_front();
      woken_ = true;
    }
    changed_.notify_all();
  }

  bool has_state() const override { return state() != nullptr; }

  bool ready() const override {
    const auto held = state();
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
  std::shared_ptr<const DesiredState> state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  Path state_file() const { return options_.state_dir / "desired.pb"; }

  Status ServeFromDisk() {
    const auto bytes = ReadFile(state_file());
    if (!bytes && bytes.error().code == Code::kNotFound) return {};
    if (!bytes) return tl::make_unexpected(bytes.error());
    auto loaded = std::make_shared<DesiredState>();
    if (!loaded->ParseFromString(*bytes)) return DataLoss("{} is no desired state", state_file().string());
    if (loaded->fleet().fleet() != options_.fleet) {
      return FailedPrecondition("{} is of the fleet {}, not of {}", state_file().string(), loaded->fleet().fleet(),
                                options_.fleet);
    }
    Take(std::move(loaded));
    return {};
  }

  void Take(std::shared_ptr<const DesiredState> taken) {
    // A report with the new state's revision is about the new state: it is applied first.
    Apply(taken, state().get(), deps_);
    {
      const std::lock_guard lock(mutex_);
      state_ = taken;
      woken_ = true;
    }
    changed_.notify_all();
  }

  void DialForever() {
    auto backoff = options_.backoff_min;
    std::minstd_rand random{std::random_device{}()};
    while (true) {
      Session session(options_.controller);
      if (!Enter(&session)) return;
      const bool heard = Converse(session);
      backoff = heard ? options_.backoff_min : std::min(2 * backoff, options_.backoff_max);
      // Half of it by chance, so that a fleet does not come back at once.
      const auto jittered = backoff / 2 + std::chrono::milliseconds(random() % static_cast<unsigned>(backoff.count() / 2 + 1));
      if (!Pause(jittered)) return;
    }
  }

  bool Enter(Session* session) {
    const std::lock_guard lock(mutex_);
    session_ = session;
    return !stopping_;
  }

  // Waits while it watches for a silence that is too long. False: stop.
  bool Pause(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (true) {
      CheckSilence();
      std::unique_lock lock(mutex_);
      const auto next = std::min(end, std::chrono::steady_clock::now() + options_.report_interval);
      changed_.wait_until(lock, next, [this] { return stopping_; });
      if (stopping_) return false;
      if (std::chrono::steady_clock::now() >= end) return true;
    }
  }

  // Until the stream ends. Whether a controller was heard.
  bool Converse(Session& session) {
    ended_ = false;
    connected_ = false;
    std::thread reader([this, &session] { ReadUntilEnd(session); });
    if (session.Write(HelloMessage())) ReportUntilEnd(session);
    session.Cancel();
    reader.join();
    const ::grpc::Status status = session.Finish();
    const std::lock_guard lock(mutex_);
    session_ = nullptr;
    const bool heard = std::exchange(connected_, false);
    if (heard) {
      heard_at_ = deps_.clock.Now();
      if (!stopping_) spdlog::warn("the controller {} left: {}", options_.controller, ForLog(status.error_message()));
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
    hello.set_peer_address(options_.peer_address);
    hello.set_admin_address(options_.admin_address);
    hello.set_software_version(options_.software_version);
    if (const auto held = state()) {
      hello.set_epoch(held->epoch());
      hello.set_revision(held->revision());
      hello.set_state_digest(DigestOf(*held));
    }
    return message;
  }

  void ReadUntilEnd(Session& session) {
    FromController message;
    while (session.Read(&message)) {
      {
        const std::lock_guard lock(mutex_);
        connected_ = true;
      }
      FromNode ack;
      *ack.mutable_ack() = Receive(message);
      if (!session.Write(ack)) break;
    }
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }

  Ack Receive(const FromController& message) {
    Ack ack;
    ack.set_epoch(message.epoch());
    ack.set_revision(message.revision());
    if (message.has_drain()) {
      SetDraining();
      if (deps_.drain) deps_.drain();
    } else if (const auto taken = Persist(message); !taken) {
      spdlog::warn("epoch {} revision {} refused: {}", message.epoch(), message.revision(), ToString(taken.error()));
      ack.set_error(ToString(taken.error()));
    }
    if (const auto held = state()) ack.set_state_digest(DigestOf(*held));
    return ack;
  }

  // On the disk before it is applied, and applied before it is acknowledged.
  Status Persist(const FromController& message) {
    const auto held = state();
    ASSIGN_OR_RETURN(DesiredState next,
                     ApplyMessage(held ? std::optional(*held) : std::nullopt, message, options_.fleet));
    if (auto written = WriteFileAtomically(state_file(), SerializeState(next)); !written) {
      return Prefixed(written.error(), "cannot write the desired state");
    }
    Take(std::make_shared<const DesiredState>(std::move(next)));
    return {};
  }

  void ReportUntilEnd(Session& session) {
    std::string last;  // What was sent, without events: the same is not sent twice.
    while (true) {
      std::vector<std::string> events;
      bool draining = false;
      {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, options_.report_interval, [this] { return woken_ || ended_ || stopping_; });
        if (ended_ || stopping_) return;
        woken_ = false;
        draining = draining_;
        events.assign(events_.begin(), events_.end());
      }
      const auto held = state();
      FromNode message;
      *message.mutable_report() = BuildReport(held ? *held : DesiredState(), draining, deps_);
      std::string now = message.SerializeAsString();
      if (now == last && events.empty()) continue;
      for (const std::string& event : events) message.mutable_report()->add_events(event);
      if (!session.Write(message)) return;
      last = std::move(now);
      const std::lock_guard lock(mutex_);
      events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(std::min(events.size(), events_.size())));
    }
  }

  void CheckSilence() {
    Duration silent;
    {
      const std::lock_guard lock(mutex_);
      if (connected_) return;
      silent = deps_.clock.Now() - heard_at_;
    }
    deps_.router.CheckSilence(silent);
  }

  const AgentOptions options_;
  const AgentDeps deps_;
  const std::string incarnation_;
  mutable std::mutex mutex_;  // Guards what follows; never held while another part is called.
  std::condition_variable changed_;
  std::shared_ptr<const DesiredState> state_;
  std::deque<std::string> events_;
  Session* session_ = nullptr;
  TimePoint heard_at_;
  bool connected_ = false;  // A message came on the present stream.
  bool ended_ = false;
  bool woken_ = false;
  bool draining_ = false;
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
