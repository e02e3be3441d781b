#include "tests/bench/control/streams.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "common/os/file.h"
#include "common/os/log.h"
#include "longshore/control.grpc.pb.h"

namespace longshore::bench::control {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kCheckInterval{100};   // Interval of checks for ended streams and due reports.
constexpr std::chrono::milliseconds kReportInterval{200};  // Interval of reports for models with a candidate.
constexpr int64_t kAnswered = 100;                         // Answered requests per kReportInterval.

struct Shared {
  std::atomic<int64_t> streams = 0;  // Streams that have received a message.
  std::atomic<int64_t> messages = 0;
  std::atomic<int64_t> bytes = 0;
  FleetParts fleet_parts;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<size_t> ended;  // Streams to open again. Guarded by the mutex, like `dialled` and `left`.
  size_t dialled = 0;
  std::map<LeftVersion, Left> left;
};

// One fake node with its stream. gRPC calls it back; when the stream has ended, the node adds its number to `shared`.
class FakeNode final
    : public grpc::ClientBidiReactor<longshore::control::FromNode, longshore::control::FromController> {
 public:
  FakeNode(const NodeLogin& login, const Appearance& appearance, std::shared_ptr<grpc::Channel> channel, size_t number,
           Shared& shared)
      : login_(login),
        peer_address_(appearance.peer_address),
        number_(number),
        shared_(shared),
        channel_(std::move(channel)),
        stub_(longshore::control::NodeControl::NewStub(channel_)),
        held_(shared.fleet_parts, appearance.digest_of_files) {}

  void Dial() {
    context_ = std::make_unique<grpc::ClientContext>();
    context_->AddMetadata("authorization", "Bearer " + login_.token);
    queue_.clear();
    writing_ = report_due_ = false;
    stub_->async()->Attach(context_.get(), this);
    StartRead(&incoming_);
    longshore::control::FromNode message;
    longshore::control::Hello& hello = *message.mutable_hello();
    hello.set_fleet(login_.fleet);
    hello.set_node(login_.node);
    hello.set_incarnation(login_.node);
    hello.set_peer_address(peer_address_);
    hello.set_admin_address("10.0.0.1:8502");
    hello.set_epoch(held_.epoch());
    hello.set_revision(held_.revision());
    hello.set_state_digest(held_.Digest());
    const std::lock_guard lock(mutex_);
    alive_ = true;
    last_report_.clear();
    queue_.push_back(std::move(message));
    report_due_ = true;
    WriteNext();
    StartCall();
  }
  void Cancel() { context_->TryCancel(); }

  // Sends a report if there is new evidence, or if the last report is older than the report interval.
  void ReportAgainIfDue(steady_clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (!alive_) return;
    const bool more = held_.has_candidate() && now - reported_at_ >= kReportInterval;
    if (!more && now - reported_at_ < held_.report_again()) return;
    if (more) held_.Answer(kAnswered);
    report_due_ = true;
    WriteNext();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (!std::exchange(heard_, true)) shared_.streams += 1;
    shared_.messages += 1;
    shared_.bytes += static_cast<int64_t>(incoming_.ByteSizeLong());
    Take();
    incoming_ = {};  // Also frees its memory: a snapshot is large.
    StartRead(&incoming_);
  }
  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (ok) WriteNext();
  }
  void OnDone(const grpc::Status& status) override {
    spdlog::debug("{}: {}", login_.node, status.error_message());
    {
      const std::lock_guard lock(mutex_);
      alive_ = false;
    }
    const std::lock_guard lock(shared_.mutex);
    if (std::exchange(heard_, false)) shared_.streams -= 1;
    shared_.dialled -= 1;
    shared_.ended.push_back(number_);
    shared_.changed.notify_all();
  }

 private:
  void Take() {
    const std::lock_guard lock(mutex_);
    if (!held_.Apply(incoming_)) return;
    NoteLeft();
    longshore::control::Ack& ack = *queue_.emplace_back().mutable_ack();
    ack.set_epoch(incoming_.epoch());
    ack.set_revision(incoming_.revision());
    ack.set_state_digest(held_.Digest());
    report_due_ = true;
    WriteNext();
  }

  void NoteLeft() {
    const std::vector<LeftVersion> left = held_.TakeLeft();
    if (left.empty()) return;
    const TimePoint now = SystemClock().Now();
    const std::lock_guard lock(shared_.mutex);
    for (const LeftVersion& version : left) {
      Left& seen = shared_.left[version];
      seen = {seen.nodes + 1, std::max(seen.last_at, now)};
    }
  }

  // Requires: the caller holds mutex_. NextReport requires this, too.
  void WriteNext() {
    if (writing_) return;
    if (!queue_.empty()) {
      outgoing_ = std::move(queue_.front());
      queue_.pop_front();
    } else if (!NextReport()) {
      return;
    }
    writing_ = true;
    StartWrite(&outgoing_);
  }
  // Reports as a real node does: a changed report at once, and an unchanged one again after report_again(). Returns
  // false if nothing is to be sent.
  bool NextReport() {
    if (!std::exchange(report_due_, false)) return false;
    outgoing_.Clear();
    *outgoing_.mutable_report() = held_.Report();
    std::string report = outgoing_.SerializeAsString();
    const auto now = steady_clock::now();
    if (report == last_report_ && now - reported_at_ < held_.report_again()) return false;
    last_report_ = std::move(report);
    reported_at_ = now;
    return true;
  }

  const NodeLogin login_;
  const std::string peer_address_;
  const size_t number_;
  Shared& shared_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<longshore::control::NodeControl::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  longshore::control::FromController incoming_;
  std::mutex mutex_;
  FakeState held_;  // Guarded by the mutex, like the following members.
  longshore::control::FromNode outgoing_;
  std::deque<longshore::control::FromNode> queue_;
  bool writing_ = false;
  bool report_due_ = false;
  std::string last_report_;
  steady_clock::time_point reported_at_;
  bool alive_ = false;
  bool heard_ = false;  // Used only in gRPC's callbacks, which run one at a time.
};

class StreamsImpl final : public Streams {
 public:
  StreamsImpl(const std::string& target, const std::string& ca, std::vector<NodeLogin> logins,
              const Appearance& appearance) {
    const auto credentials = grpc::SslCredentials({.pem_root_certs = ca, .pem_private_key = {}, .pem_cert_chain = {}});
    for (size_t i = 0; i < logins.size(); ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      arguments.SetMaxReceiveMessageSize(-1);
      nodes_.push_back(std::make_unique<FakeNode>(
          logins[i], appearance, grpc::CreateCustomChannel(target, credentials, arguments), i, shared_));
    }
    shared_.dialled = nodes_.size();
    for (const auto& node : nodes_) node->Dial();
    dialler_ = std::thread([this] { DialAgain(); });
  }
  ~StreamsImpl() override {
    {
      const std::lock_guard lock(shared_.mutex);
      stopping_ = true;
    }
    shared_.changed.notify_all();
    dialler_.join();
    for (const auto& node : nodes_) node->Cancel();
    std::unique_lock lock(shared_.mutex);
    shared_.changed.wait(lock, [this] { return shared_.dialled == 0; });
  }
  StreamCounts counts() override {
    const std::lock_guard lock(shared_.mutex);
    return {shared_.streams, shared_.messages, shared_.bytes, shared_.left};
  }

 private:
  void DialAgain() {
    std::unique_lock lock(shared_.mutex);
    for (;;) {
      shared_.changed.wait_for(lock, kCheckInterval, [this] { return stopping_; });
      if (stopping_) return;
      const std::deque<size_t> ended = std::exchange(shared_.ended, {});
      shared_.dialled += ended.size();
      lock.unlock();
      for (const size_t number : ended) nodes_[number]->Dial();
      const auto now = steady_clock::now();
      for (const auto& node : nodes_) node->ReportAgainIfDue(now);
      lock.lock();
    }
  }

  Shared shared_;
  bool stopping_ = false;  // Guarded by shared_.mutex.
  std::vector<std::unique_ptr<FakeNode>> nodes_;
  std::thread dialler_;
};

}  // namespace

Result<std::vector<NodeLogin>> ReadLogins(const Path& file) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  std::vector<NodeLogin> logins;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    NodeLogin login;
    if (!(words >> login.fleet >> login.node >> login.token))
      return InvalidArgument("{}: line {} is not FLEET NODE TOKEN", file.string(), logins.size() + 1);
    logins.push_back(std::move(login));
  }
  return logins;
}

std::unique_ptr<Streams> StartStreams(const std::string& target, const std::string& ca, std::vector<NodeLogin> logins,
                                      const Appearance& appearance) {
  return std::make_unique<StreamsImpl>(target, ca, std::move(logins), appearance);
}

}  // namespace longshore::bench::control
