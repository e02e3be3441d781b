#include "serving-node/routing/forwarder.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "common/net/grpc/bytes.h"
#include "common/net/grpc/credentials.h"
#include "common/net/grpc/status.h"
#include "longshore/peer.grpc.pb.h"
#include "longshore/peer.pb.h"

namespace longshore::routing {
namespace {

using std::chrono::steady_clock;

using IdentityPtr = std::shared_ptr<const identity::PeerIdentity>;

// Creates a channel to the peer; without TLS if `identity` is null.
std::shared_ptr<grpc::Channel> Dial(const std::string& target, const IdentityPtr& identity,
                                    const GrpcForwarderOptions& options) {
  grpc::ChannelArguments arguments;
  auto credentials = grpc::InsecureChannelCredentials();
  if (identity) {
    credentials = rpc::MakeChannelCredentials(
        {.server_ca = identity->authorities, .certificate = identity->own.certificate, .key = identity->own.key});
    // The peer's certificate must name the fleet, not the address, because another fleet may get the address later.
    arguments.SetSslTargetNameOverride(identity->fleet_name);
  }
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  // gRPC gives each attempt to connect at least this much time, because a busy peer may need a while for the handshake.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(options.keepalive_time.count()));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(options.keepalive_timeout.count()));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // No limit: a call may take longer than two pings.
  // No retry policy is set, so gRPC repeats only requests that no server has seen, for example after a peer closed a
  // connection that reached its maximum age. The router decides about all other retries.
  return grpc::CreateCustomChannel(target, credentials, arguments);
}

// The channel to one peer and the last known load of the peer. The members up to peer_stub never change; the others are
// guarded by GrpcForwarder::mutex_.
struct Peer {
  Peer(const std::string& target, IdentityPtr of_ours, const GrpcForwarderOptions& options)
      : identity(std::move(of_ours)),
        channel(Dial(target, identity, options)),
        stub(channel),
        peer_stub(peer::Peer::NewStub(channel)) {}
  const IdentityPtr identity;
  std::shared_ptr<grpc::Channel> channel;
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub;
  std::unique_ptr<peer::Peer::Stub> peer_stub;

  steady_clock::time_point used_at;
  int64_t in_flight = 0;
  bool asking = false;
  steady_clock::time_point asked_at{};
  int64_t in_flight_when_asked = 0;
  std::optional<PeerLoad> load;
};

// Unavailable and Cancelled both become Unavailable: a cancellation that this node did not request means that the
// connection broke.
Error ToError(const grpc::Status& status, const std::string& target) {
  Error error = rpc::FromGrpc(status);
  if (error.code != Code::kUnavailable && error.code != Code::kCancelled) return error;
  return {Code::kUnavailable, fmt::format("peer {}: {}", target, error.message)};
}

std::chrono::system_clock::time_point ToSystemTime(steady_clock::time_point deadline) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(deadline - steady_clock::now());
}

class GrpcForwarder final : public Forwarder {
 public:
  explicit GrpcForwarder(GrpcForwarderOptions options) : options_(std::move(options)) {}

  ~GrpcForwarder() override {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    for (grpc::ClientContext* context : running_) context->TryCancel();
    ended_.wait(lock, [this] { return under_way_ == 0; });
  }

  void Forward(ForwardCall call, ForwardDone done) override {
    const auto peer = PeerOf(call.target);
    if (!peer) return done(Unavailable("peer {}: this node has no certificate yet", call.target));
    auto* running = new Running(peer, std::move(call.target), std::move(done));
    for (const auto& [name, value] : call.metadata) running->context.AddMetadata(name, value);
    if (call.deadline != steady_clock::time_point::max()) running->context.set_deadline(ToSystemTime(call.deadline));
    running->request = rpc::ToByteBuffer(call.serialized);
    Authorize(running->context);
    if (call.trace) BeginHop(call, *running);
    Begin(&running->context, *peer, 1);
    if (call.cancelled.stop_possible()) running->cancelling.emplace(call.cancelled, Cut{&running->context});
    peer->stub.UnaryCall(
        &running->context, call.method, {}, &running->request, &running->reply,
        [this, running](const grpc::Status& status) { Finish(std::unique_ptr<Running>(running), status); });
  }

  void Watch(const std::vector<std::string>& targets) override {
    const auto now = steady_clock::now();
    for (const std::string& target : targets) {
      const auto peer = PeerOf(target);
      if (!peer) return;
      {
        const std::lock_guard lock(mutex_);
        if (peer->asking || now - options_.load_interval < peer->asked_at) continue;
        peer->asking = true;
        peer->asked_at = now;
        peer->in_flight_when_asked = peer->in_flight;
      }
      Ask(peer);
    }
  }

  std::optional<PeerLoad> LoadOf(const std::string& target) const override {
    const std::lock_guard lock(mutex_);
    const auto found = peers_.find(target);
    if (found == peers_.end() || !found->second->load) return std::nullopt;
    const Peer& peer = *found->second;
    if (steady_clock::now() - peer.asked_at > options_.load_age_max) return std::nullopt;
    PeerLoad load = *peer.load;
    load.queued += std::max<int64_t>(0, peer.in_flight - peer.in_flight_when_asked);
    return load;
  }

 private:
  struct Cut {
    grpc::ClientContext* context;
    void operator()() const { context->TryCancel(); }
  };
  struct Running {
    Running(std::shared_ptr<Peer> to, std::string name, ForwardDone call_back)
        : peer(std::move(to)), target(std::move(name)), done(std::move(call_back)) {}
    std::shared_ptr<Peer> peer;
    std::string target;
    ForwardDone done;
    grpc::ClientContext context;
    std::optional<std::stop_callback<Cut>> cancelling;
    grpc::ByteBuffer request;
    grpc::ByteBuffer reply;
    std::optional<tracing::Hop> hop;
  };
  struct Asking {
    std::shared_ptr<Peer> peer;
    grpc::ClientContext context;
    peer::LoadRequest request;
    peer::LoadReply reply;
  };

  // Returns the channel to the peer; null if a certificate is required and missing. A channel keeps the certificate it
  // was created with: after a renewal a new channel is created, and calls in flight end on the old one.
  std::shared_ptr<Peer> PeerOf(const std::string& target) {
    const IdentityPtr identity = options_.identity ? options_.identity() : nullptr;
    if (options_.identity && !identity) return nullptr;
    const std::lock_guard lock(mutex_);
    auto& peer = peers_[target];
    if (!peer || peer->identity != identity) peer = std::make_shared<Peer>(target, identity, options_);
    peer->used_at = steady_clock::now();
    const auto found = peer;
    if (peers_.size() > options_.channels_max) {
      peers_.erase(std::ranges::min_element(peers_, {}, [](const auto& entry) { return entry.second->used_at; }));
    }
    return found;
  }

  // Makes the hop the parent of the peer's span.
  static void BeginHop(const ForwardCall& call, Running& running) {
    const tracing::Hop& hop = running.hop.emplace(call.trace->BeginHop(running.target, call.method));
    running.context.AddMetadata(std::string(tracing::kTraceparent), FormatTraceparent(hop.context()));
    if (!hop.context().state.empty())
      running.context.AddMetadata(std::string(tracing::kTracestate), hop.context().state);
  }

  void Authorize(grpc::ClientContext& context) const {
    if (options_.authorization) context.AddMetadata("authorization", options_.authorization());
  }

  void Begin(grpc::ClientContext* context, Peer& peer, int64_t in_flight) {
    const std::lock_guard lock(mutex_);
    running_.insert(context);
    ++under_way_;
    // The destructor cancels all calls. The callback of such a call may start another call, which is cancelled here.
    if (stopping_) context->TryCancel();
    peer.in_flight += in_flight;
  }

  // A call holds its channel. The last channel of the process must not be destroyed on a thread of a gRPC callback,
  // because gRPC would then join this thread from itself. So this function destroys the call before it lets the
  // destructor of the forwarder, which also holds the channel, continue.
  template <typename Call>
  void End(std::unique_ptr<Call> call) {
    {
      const std::lock_guard lock(mutex_);
      running_.erase(&call->context);
    }
    call.reset();
    const std::lock_guard lock(mutex_);
    --under_way_;
    ended_.notify_all();
  }

  void Finish(std::unique_ptr<Running> call, const grpc::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      --call->peer->in_flight;
    }
    call->cancelling.reset();
    if (call->hop) call->hop->End(static_cast<Code>(status.error_code()));
    if (status.ok()) {
      call->done(rpc::ToPieces(call->reply));
    } else {
      call->done(tl::make_unexpected(ToError(status, call->target)));
    }
    End(std::move(call));
  }

  void Ask(const std::shared_ptr<Peer>& peer) {
    auto* asking = new Asking;
    asking->peer = peer;
    asking->request.set_fleet(options_.fleet);
    asking->context.set_deadline(std::chrono::system_clock::now() + options_.load_age_max);
    Authorize(asking->context);
    Begin(&asking->context, *peer, 0);
    peer->peer_stub->async()->GetLoad(&asking->context, &asking->request, &asking->reply,
                                      [this, asking](const grpc::Status& status) {
                                        Answered(*asking->peer, status, asking->reply);
                                        End(std::unique_ptr<Asking>(asking));
                                      });
  }

  void Answered(Peer& peer, const grpc::Status& status, const peer::LoadReply& reply) {
    const std::lock_guard lock(mutex_);
    peer.asking = false;
    peer.load.reset();
    if (status.ok()) peer.load = PeerLoad{reply.running(), reply.queued(), reply.concurrent_runs_max()};
  }

  const GrpcForwarderOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::map<std::string, std::shared_ptr<Peer>> peers_;
  std::set<grpc::ClientContext*> running_;  // The contexts of the calls that can be cancelled.
  int64_t under_way_ = 0;                   // The number of calls in running_ plus those that End is destroying.
  bool stopping_ = false;
};

}  // namespace

double PeerLoad::PerSlot() const {
  return static_cast<double>(running + queued) / static_cast<double>(std::max<int64_t>(1, concurrent_runs_max));
}

std::unique_ptr<Forwarder> MakeGrpcForwarder(GrpcForwarderOptions options) {
  return std::make_unique<GrpcForwarder>(std::move(options));
}

}  // namespace longshore::routing
