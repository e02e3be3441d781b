#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <condition_variable>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include "common/net/grpc/credentials.h"
#include "common/os/log.h"
#include "common/os/ticker.h"
#include "controller/nodes/nodes.h"
#include "controller/nodes/stream.h"
#include "longshore/control.grpc.pb.h"

namespace longshore::nodes {
namespace {

constexpr std::string_view kUnix = "unix:";

// Returns the header Authorization; "" if it is absent or occurs twice.
std::string AuthorizationOf(const grpc::CallbackServerContext& context) {
  const auto [begin, end] = context.client_metadata().equal_range("authorization");
  if (begin == end || std::next(begin) != end) return "";
  return {begin->second.data(), begin->second.size()};
}

class RegistryImpl final : public Registry, private control::NodeControl::CallbackService, private StreamOwner {
 public:
  RegistryImpl(Options options, const MonotonicClock& clock, OnChange on_change)
      : options_(std::move(options)), clock_(clock), on_change_(std::move(on_change)), epoch_(options_.epoch) {
    heartbeat_.emplace(options_.heartbeat_interval, [this] { SendHeartbeats(); });
  }

  ~RegistryImpl() override {
    if (server_) Close();
    std::unique_lock lock(mutex_);
    no_stream_.wait(lock, [this] { return streams_ == 0; });
  }

  Status Listen() {
    grpc::ServerBuilder builder;
    credentials_ = rpc::MakeServerCredentials({.tls = options_.tls});
    builder.AddListeningPort(options_.address, credentials_, &port_);
    builder.SetMaxReceiveMessageSize(options_.message_bytes_max);
    // Disables the bandwidth probe: it adds a ping to most reports, which do not need a large window.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (!server_) return FailedPrecondition("cannot listen for nodes on {}", options_.address);
    if (!options_.address.starts_with(kUnix)) return {};
    const std::string socket = options_.address.substr(kUnix.size());
    if (chmod(socket.c_str(), 0600) != 0) return Unavailable("cannot protect {}", socket);
    return {};
  }

  int port() const override { return port_; }

  int64_t epoch() const override {
    const std::scoped_lock lock(mutex_);
    return epoch_;
  }

  // Cancels the streams immediately, because nodes do not end them.
  void Close() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::vector<ViewPtr> Nodes(const std::string& fleet) const override {
    const std::scoped_lock lock(mutex_);
    std::vector<ViewPtr> views;
    for (auto at = nodes_.lower_bound({fleet, ""}); at != nodes_.end() && at->first.first == fleet; ++at) {
      views.push_back(at->second.view);
    }
    return views;
  }

  ViewPtr Node(const std::string& fleet, const std::string& node) const override {
    const std::scoped_lock lock(mutex_);
    const auto found = nodes_.find({fleet, node});
    return found == nodes_.end() ? nullptr : found->second.view;
  }

  Status Send(const std::string& fleet, const std::string& node, control::FromController message,
              std::shared_ptr<const FleetPart> part) override;

  void Forget(const std::string& fleet, const std::string& node) override {
    const std::scoped_lock lock(mutex_);
    const auto found = nodes_.find({fleet, node});
    if (found != nodes_.end() && found->second.stream == nullptr) nodes_.erase(found);
  }

 private:
  struct Known {
    ViewPtr view = std::make_shared<const NodeView>();
    Stream* stream = nullptr;
  };

  grpc::ServerBidiReactor<control::FromNode, control::FromController>* Attach(
      grpc::CallbackServerContext* context) override {
    const auto identity = options_.identify ? options_.identify(AuthorizationOf(*context)) : Result<Identity>();
    const std::scoped_lock lock(mutex_);
    ++streams_;
    auto* stream = new Stream(*this);  // Deletes itself in OnDone.
    if (!identity) {
      spdlog::error("refused a stream: {}", ForLog(identity.error().message));
      stream->End({grpc::StatusCode::UNAUTHENTICATED, identity.error().message});
    } else if (options_.identify) {
      stream->identity = *identity;
    }
    return stream;
  }

  std::mutex& mutex() override { return mutex_; }
  void Received(Stream& stream, const control::FromNode& message) override;
  void Ended(Stream& stream) override;
  void SendHeartbeats();
  Status EndIfFull(Stream& stream) const;

  Status TakeHello(Stream& stream, const control::Hello& hello);
  static bool TakeAck(Known& node, const control::Ack& ack, MonotonicPoint now);
  bool TakeReport(Known& node, const control::Report& report) const;
  Result<control::Certificate> CertificateFor(const Stream& stream, const std::string& request) const;
  void AnswerRequest(Stream& stream, const std::string& request);

  const Options options_;
  const MonotonicClock& clock_;
  const OnChange on_change_;
  mutable std::mutex mutex_;
  std::condition_variable no_stream_;
  int64_t epoch_;
  int64_t revision_ = 0;
  int streams_ = 0;
  std::map<NodeKey, Known> nodes_;
  int port_ = 0;
  // The credentials must outlive the server, because TLS handshakes call back into them.
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<grpc::Server> server_;
  std::optional<Ticker> heartbeat_;  // Last, so that it is destroyed first: its thread uses the other members.
};

// Sends a heartbeat on each stream, except on streams with queued messages, which need none.
void RegistryImpl::SendHeartbeats() {
  control::FromController message;
  message.mutable_heartbeat();
  const std::scoped_lock lock(mutex_);
  for (auto& [_, node] : nodes_) {
    if (node.stream != nullptr && node.stream->queued() == 0) node.stream->Push(message);
  }
}

Status RegistryImpl::EndIfFull(Stream& stream) const {
  if (stream.queued() < options_.queued_max) return {};
  stream.End({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many messages are queued for this node"});
  return ResourceExhausted("{} messages are queued for node {}, which is the limit", options_.queued_max,
                           stream.key.second);
}

Status RegistryImpl::Send(const std::string& fleet, const std::string& node, control::FromController message,
                          std::shared_ptr<const FleetPart> part) {
  if (options_.may_send && !options_.may_send()) return FailedPrecondition("this controller is no longer the leader");
  const std::scoped_lock lock(mutex_);
  const auto found = nodes_.find({fleet, node});
  if (found == nodes_.end() || found->second.stream == nullptr) return NotFound("node {} is not connected", node);
  Known& to = found->second;
  if (!message.has_snapshot() && !message.has_drain() && !to.view->sent) {
    return FailedPrecondition("node {} has no snapshot yet", node);
  }
  RETURN_IF_ERROR(EndIfFull(*to.stream));
  message.set_epoch(epoch_);
  message.set_revision(++revision_);
  if (message.has_snapshot()) {
    message.mutable_snapshot()->mutable_state()->set_epoch(message.epoch());
    message.mutable_snapshot()->mutable_state()->set_revision(message.revision());
  }
  if (message.has_snapshot() || to.view->sent) ApplyMessage(message, part, Unshared(Unshared(to.view).sent));
  to.stream->Push(std::move(message));
  return {};
}

// Stores the report. Returns false if it contains nothing new.
bool RegistryImpl::TakeReport(Known& node, const control::Report& report) const {
  NodeView& view = Unshared(node.view);
  const bool is_news = !view.reported || !view.report || view.report->SerializeAsString() != report.SerializeAsString();
  if (is_news) view.report = std::make_shared<const control::Report>(report);
  view.report_at = clock_.Now();
  view.reported = true;
  return is_news;
}

void RegistryImpl::Received(Stream& stream, const control::FromNode& message) {
  NodeKey key;
  bool is_news = false;
  {
    const std::scoped_lock lock(mutex_);
    if (stream.finished()) return;
    if (message.has_hello()) {
      if (const Status taken = TakeHello(stream, message.hello()); !taken) {
        spdlog::error("refused a node: {}", ForLog(taken.error().message));
        return stream.End({static_cast<grpc::StatusCode>(taken.error().code), taken.error().message});
      }
    }
    const auto found = nodes_.find(stream.key);
    if (found == nodes_.end())
      return stream.End({grpc::StatusCode::INVALID_ARGUMENT, "a node must send its hello first"});
    if (found->second.stream != &stream) return;  // The node has connected again in the meantime.
    key = stream.key;
    is_news = message.has_hello() || (message.has_ack() && TakeAck(found->second, message.ack(), clock_.Now())) ||
              (message.has_report() && TakeReport(found->second, message.report()));
  }
  if (message.has_certificate_request()) return AnswerRequest(stream, message.certificate_request().request());
  if (is_news) on_change_(key.first, key.second);
}

Result<control::Certificate> RegistryImpl::CertificateFor(const Stream& stream, const std::string& request) const {
  if (!options_.certify) return Unimplemented("this controller does not issue certificates");
  return options_.certify(*stream.identity, request);
}

// Called without the mutex, because issuing a certificate takes time. Runs on the thread that reads this stream, so the
// next message of the stream waits for it.
void RegistryImpl::AnswerRequest(Stream& stream, const std::string& request) {
  const MonotonicPoint now = clock_.Now();
  if (stream.certified_at && now - *stream.certified_at < options_.certify_interval) {
    const std::scoped_lock lock(mutex_);
    return stream.End({grpc::StatusCode::RESOURCE_EXHAUSTED, "the node requests certificates too often"});
  }
  stream.certified_at = now;
  control::FromController answer;
  if (auto certificate = CertificateFor(stream, request)) {
    *answer.mutable_certificate() = std::move(*certificate);
  } else {
    spdlog::error("cannot issue a certificate for node {} of fleet {}: {}", stream.key.second, stream.key.first,
                  ForLog(certificate.error().message));
    answer.mutable_certificate()->set_error(certificate.error().message);
  }
  const std::scoped_lock lock(mutex_);
  if (!stream.finished() && EndIfFull(stream)) stream.Push(std::move(answer));
}

Status RegistryImpl::TakeHello(Stream& stream, const control::Hello& hello) {
  if (!stream.key.first.empty()) return InvalidArgument("node {} sent two hellos", hello.node());
  if (hello.fleet().empty() || hello.node().empty() || hello.incarnation().empty()) {
    return InvalidArgument("a hello must name a fleet, a node and an incarnation");
  }
  if (stream.identity &&
      NodeKey(stream.identity->fleet, stream.identity->node) != NodeKey(hello.fleet(), hello.node())) {
    return Fail(Code::kPermissionDenied, "node {} of fleet {} claims to be node {} of fleet {}", stream.identity->node,
                stream.identity->fleet, hello.node(), hello.fleet());
  }
  if (nodes_.size() >= options_.nodes_max && !nodes_.contains({hello.fleet(), hello.node()})) {
    return ResourceExhausted("the limit of {} nodes is reached", nodes_.size());
  }
  if (hello.epoch() > epoch_ + kEpochAheadMax) {
    return InvalidArgument(
        "node {} of fleet {} reports epoch {}, but the epoch of this controller is {}, and an epoch more than {} ahead "
        "is not plausible",
        hello.node(), hello.fleet(), hello.epoch(), epoch_, kEpochAheadMax);
  }
  if (hello.epoch() >= epoch_ && hello.epoch() > 0) {
    const auto known = nodes_.find({hello.fleet(), hello.node()});
    const bool is_of_this_term = known != nodes_.end() && hello.epoch() == epoch_;
    if (!is_of_this_term) {
      const Result<int64_t> raised = options_.raise_epoch(hello.epoch());
      if (!raised) {
        return Prefixed(raised.error(),
                        fmt::format("node {} of fleet {} holds epoch {}, but the epoch of this controller is {}",
                                    hello.node(), hello.fleet(), hello.epoch(), epoch_));
      }
      epoch_ = *raised;
    }
  }
  stream.key = {hello.fleet(), hello.node()};
  Known& node = nodes_[stream.key];
  if (node.stream != nullptr) node.stream->End({grpc::StatusCode::ABORTED, "the node has connected again"});
  NodeView& view = Unshared(node.view);
  if (view.hello.incarnation() != hello.incarnation()) view.report.reset();
  if (!view.sent || view.sent->epoch != hello.epoch() || view.sent->revision != hello.revision() ||
      DigestOf(*view.sent) != hello.state_digest()) {
    view.sent.reset();
  }
  view.hello = hello;
  view.connected = true;
  view.reported = false;
  view.acked_epoch = hello.epoch();
  view.acked_revision = hello.revision();
  view.ack_error.clear();
  node.stream = &stream;
  return {};
}

// Stores the acknowledgement. Returns true if it requires an action, because the node refused a message or has another
// state than it was sent.
bool RegistryImpl::TakeAck(Known& node, const control::Ack& ack, MonotonicPoint now) {
  NodeView& view = Unshared(node.view);
  view.ack_error = ack.error();
  const bool newest = view.sent && view.sent->epoch == ack.epoch() && view.sent->revision == ack.revision();
  if (newest && ack.error().empty() && ack.state_digest() != DigestOf(*view.sent)) {
    view.ack_error =
        fmt::format("its state has the digest {}, which is not the digest of the state that the controller sent",
                    ForLog(ack.state_digest()));
  }
  if (view.ack_error.empty()) {
    view.acked_epoch = ack.epoch();
    view.acked_revision = ack.revision();
    return false;
  }
  spdlog::error("node {} did not accept epoch {} revision {}: {}", view.hello.node(), ack.epoch(), ack.revision(),
                ForLog(view.ack_error));
  view.refused_at = now;
  view.sent.reset();
  return true;
}

void RegistryImpl::Ended(Stream& stream) {
  bool current = false;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = nodes_.find(stream.key);
    current = found != nodes_.end() && found->second.stream == &stream;
    if (current) {
      found->second.stream = nullptr;
      NodeView& view = Unshared(found->second.view);
      view.connected = false;
      view.reported = false;
    }
  }
  if (current) on_change_(stream.key.first, stream.key.second);
  const std::scoped_lock lock(mutex_);
  if (--streams_ == 0) no_stream_.notify_all();
}

}  // namespace

Result<std::unique_ptr<Registry>> Registry::Start(Options options, const MonotonicClock& clock, OnChange on_change) {
  auto registry = std::make_unique<RegistryImpl>(std::move(options), clock, std::move(on_change));
  RETURN_IF_ERROR(registry->Listen());
  return std::unique_ptr<Registry>(std::move(registry));
}

}  // namespace longshore::nodes
