#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "common/net/grpc_server/server.h"
#include "common/os/log.h"
#include "common/os/processors.h"
#include "common/os/ticker.h"
#include "controller/nodes/nodes.h"
#include "controller/nodes/stream.h"

namespace longshore::nodes {
namespace {

using std::chrono::milliseconds;

constexpr auto kCloseTime = milliseconds(1000);   // For nodes to read the end of their streams, when all of them end.
constexpr auto kIdleTime = milliseconds(60'000);  // A node opens its stream as soon as it is connected.
// A node does not read while it stores a state, and its disk may be slow.
constexpr auto kReadTime = milliseconds(60'000);

http2::Options ServerOptions(const Options& options) {
  http2::Options http2{.address = options.address,
                       .tls = options.tls,
                       .threads = Processors(),
                       // Nodes that reconnect have two connections, and those above the limit of nodes get an answer.
                       .connections_max = 2 * options.nodes_max,
                       .idle_timeout = kIdleTime,
                       .keepalive_time = options.ping_after,
                       .keepalive_timeout = options.ping_timeout};
  http2.limits.answer_time.grace = kReadTime;
  // A node has one stream: a message that arrives, one that is handled, and room for those that are refused.
  http2.limits.bytes_max = 2 * static_cast<size_t>(options.message_bytes_max) + (size_t{1} << 20);
  return http2;
}

class RegistryImpl final : public Registry, private StreamOwner {
 public:
  RegistryImpl(Options options, const MonotonicClock& clock, OnChange on_change)
      : options_(std::move(options)), clock_(clock), on_change_(std::move(on_change)), epoch_(options_.epoch) {
    heartbeat_.emplace(options_.heartbeat_interval, [this] { Tick(); });
  }

  ~RegistryImpl() override {
    heartbeat_.reset();
    if (server_) Close();
    server_.reset();
  }

  Status Listen() {
    const auto service = std::make_shared<grpc_server::Service>();
    service->receive_bytes_max = static_cast<size_t>(options_.message_bytes_max);
    service->Add("/longshore.control.NodeControl/Attach",
                 {.kind = grpc_server::Method::Kind::kStreaming,
                  .handler = [this](const std::shared_ptr<grpc_server::Call>& call) { Attach(call); }});
    auto server = grpc_server::Start(ServerOptions(options_), service);
    if (!server) {
      return Fail(server.error().code, "cannot listen for nodes on {}: {}", options_.address, server.error().message);
    }
    server_ = std::move(*server);
    return {};
  }

  int port() const override { return server_->port(); }

  int64_t epoch() const override {
    const std::scoped_lock lock(mutex_);
    return epoch_;
  }

  // Ends the streams immediately, because nodes do not end them.
  void Close() override {
    {
      const Lock lock(*this);
      closed_ = true;
      for (const auto& [_, node] : nodes_) {
        if (node.stream != nullptr) node.stream->End(Closed());
      }
      for (const auto& stream : without_hello_) stream->End(Closed());
    }
    server_->Drain(kCloseTime);
  }

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
    std::shared_ptr<Stream> stream;  // Null: the node is not connected.
  };

  static tl::unexpected<Error> Closed() { return Unavailable("this controller has ended its term"); }

  void Attach(const std::shared_ptr<grpc_server::Call>& call);
  void Received(Stream& stream, const control::FromNode& message) override;
  void Ended(Stream& stream) override;
  void Tick();
  void EndStreamsWithoutHello();
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
  // Guarded by the mutex of StreamOwner, like the following members up to without_hello_.
  int64_t epoch_;
  int64_t revision_ = 0;
  bool closed_ = false;
  std::map<NodeKey, Known> nodes_;
  std::set<std::shared_ptr<Stream>> without_hello_;  // Streams that wait for their hello.
  std::unique_ptr<http2::Server> server_;
  std::optional<Ticker> heartbeat_;
};

void RegistryImpl::Attach(const std::shared_ptr<grpc_server::Call>& call) {
  std::optional<Identity> proven;
  if (options_.identify) {
    auto identity = options_.identify(call->Metadata("authorization").value_or(""));
    if (!identity) {
      spdlog::error("refused a stream from {}: {}", call->peer().address, ForLog(identity.error().message));
      return call->Finish(Fail(Code::kUnauthenticated, "{}", identity.error().message));
    }
    proven = std::move(*identity);
  }
  StreamOwner& owner = *this;
  const auto stream = std::make_shared<Stream>(owner, call, std::move(proven), clock_.Now());
  {
    const Lock lock(*this);
    without_hello_.insert(stream);
    if (closed_) stream->End(Closed());
  }
  stream->Start();
}

// Runs on the thread of the ticker, where an exception would end the program. The next tick repeats what is missing.
void RegistryImpl::Tick() {
  try {
    EndStreamsWithoutHello();
    SendHeartbeats();
  } catch (const std::exception& error) {
    spdlog::error("cannot send heartbeats to all nodes: {}", error.what());
  }
}

void RegistryImpl::EndStreamsWithoutHello() {
  const MonotonicPoint now = clock_.Now();
  const Lock lock(*this);
  std::erase_if(without_hello_, [&](const std::shared_ptr<Stream>& stream) {
    if (now - stream->began_at < options_.hello_timeout) return false;
    stream->End(DeadlineExceeded("the node has not sent its hello in time"));
    return true;
  });
}

// Sends a heartbeat on each stream, except on streams with queued messages, which need none.
void RegistryImpl::SendHeartbeats() {
  control::FromController message;
  message.mutable_heartbeat();
  const Lock lock(*this);
  for (auto& [_, node] : nodes_) {
    if (node.stream != nullptr && node.stream->queued() == 0) node.stream->Push(message);
  }
}

Status RegistryImpl::EndIfFull(Stream& stream) const {
  if (stream.queued() < options_.queued_max) return {};
  stream.End(ResourceExhausted("too many messages are queued for this node"));
  return ResourceExhausted("{} messages are queued for node {}, which is the limit", options_.queued_max,
                           stream.key.second);
}

Status RegistryImpl::Send(const std::string& fleet, const std::string& node, control::FromController message,
                          std::shared_ptr<const FleetPart> part) {
  if (options_.may_send && !options_.may_send()) return FailedPrecondition("this controller is no longer the leader");
  const Lock lock(*this);
  const auto found = nodes_.find({fleet, node});
  if (found == nodes_.end() || found->second.stream == nullptr) return NotFound("node {} is not connected", node);
  Known& to = found->second;
  if (!message.has_snapshot() && !message.has_drain() && !to.view->sent) {
    return FailedPrecondition("node {} has no snapshot yet", node);
  }
  RETURN_IF_ERROR(EndIfFull(*to.stream));
  if (message.has_move_connections()) {  // Changes no state, so it has no number.
    to.stream->Push(std::move(message));
    return {};
  }
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
  if (view.sent && !(view.sent->removed.empty() && view.sent->changed.empty())) ForgetDone(report, Unshared(view.sent));
  view.report_at = clock_.Now();
  view.reported = true;
  return is_news;
}

void RegistryImpl::Received(Stream& stream, const control::FromNode& message) {
  NodeKey key;
  bool is_news = false;
  {
    const Lock lock(*this);
    if (stream.finished()) return;
    if (message.has_hello()) {
      if (const Status taken = TakeHello(stream, message.hello()); !taken) {
        spdlog::error("refused a node: {}", ForLog(taken.error().message));
        return stream.End(taken);
      }
    }
    const auto found = nodes_.find(stream.key);
    if (found == nodes_.end()) return stream.End(InvalidArgument("a node must send its hello first"));
    if (found->second.stream.get() != &stream) return;  // The node has connected again in the meantime.
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
    const Lock lock(*this);
    return stream.End(ResourceExhausted("the node requests certificates too often"));
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
  const Lock lock(*this);
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
  if (node.stream != nullptr) node.stream->End(Aborted("the node has connected again"));
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
  node.stream = stream.shared_from_this();
  without_hello_.erase(node.stream);
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
    without_hello_.erase(stream.shared_from_this());
    const auto found = nodes_.find(stream.key);
    current = found != nodes_.end() && found->second.stream.get() == &stream;
    if (current) {
      found->second.stream.reset();
      NodeView& view = Unshared(found->second.view);
      view.connected = false;
      view.lost_at = clock_.Now();
      view.reported = false;
    }
  }
  if (current) on_change_(stream.key.first, stream.key.second);
}

}  // namespace

Result<std::unique_ptr<Registry>> Registry::Start(Options options, const MonotonicClock& clock, OnChange on_change) {
  auto registry = std::make_unique<RegistryImpl>(std::move(options), clock, std::move(on_change));
  RETURN_IF_ERROR(registry->Listen());
  return std::unique_ptr<Registry>(std::move(registry));
}

}  // namespace longshore::nodes
