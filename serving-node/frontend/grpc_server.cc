#include "serving-node/frontend/grpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <limits>

#include "common/net/grpc/acceptor.h"
#include "common/os/log.h"
#include "common/os/process/descriptors.h"
#include "serving-node/frontend/grpc_services.h"
#include "serving-node/frontend/health_service.h"
#include "serving-node/frontend/profiler_service.h"
#include "serving-node/routing/forwarder.h"

namespace longshore::frontend {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kMetadataBytesMax = 64 << 10;
// Twice as much, because a request that is forwarded to a home node carries all metadata of its client.
constexpr int kHopMetadataBytesMax = 2 * kMetadataBytesMax;
constexpr int kPingIntervalMinMs = 10000;
static_assert(routing::kKeepaliveTime.count() > kPingIntervalMinMs, "gRPC closes connections with too many pings");
constexpr int kHandshakeMsMax = 10000;
// gRPC's jitter: a connection may become this many times as old as its maximum age.
constexpr double kAgeJitter = 1.1;

// Sets a channel argument of the user. Called after all others are set, so that it overrides the defaults.
void AddArgument(const std::string& argument, ::grpc::ServerBuilder& builder) {
  const std::string name = argument.substr(0, argument.find('='));
  const std::string value = argument.substr(name.size() + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc{} && end == value.data() + value.size()) {
    builder.AddChannelArgument(name, number);
  } else {
    builder.AddChannelArgument(name, value);
  }
}

void Configure(const GrpcOptions& options, ::grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(options.receive_bytes_max);
  builder.SetMaxSendMessageSize(INT_MAX);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.streams_max);
  if (options.memory_bytes_max > 0) {
    builder.SetResourceQuota(::grpc::ResourceQuota("longshore").Resize(options.memory_bytes_max));
  }
  const bool from_peers = options.protocol == routing::Protocol::kPeer;
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, from_peers ? kHopMetadataBytesMax : kMetadataBytesMax);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kPingIntervalMinMs);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMsMax);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  if (options.connection_age_max_ms > 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, static_cast<int>(options.connection_age_max_ms));
    builder.AddChannelArgument(
        GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
        static_cast<int>(std::min<int64_t>(options.drain_timeout.count(), std::numeric_limits<int>::max())));
  }
  for (const std::string& argument : options.channel_arguments) AddArgument(argument, builder);
}

// Removes gRPC's reflection service, which the reflection library otherwise adds to every server of the process.
class NoReflection final : public ::grpc::ServerBuilderOption {
 public:
  void UpdateArguments(::grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<::grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) { return plugin->name() == "proto_server_reflection"; });
  }
};

class Server final : public GrpcServer {
 public:
  // Takes ownership of the sockets, of which there must be at least one.
  Server(const GrpcOptions& options, const std::vector<int>& sockets, routing::Predictor& predictor,
         const Catalog& catalog)
      : port_(process::LocalPort(sockets.front()).value_or(0)),
        drain_max_(milliseconds(options.connection_age_max_ms) * kAgeJitter + options.drain_timeout),
        deadlines_(options.answer_time),
        prediction_(predictor, catalog, deadlines_,
                    {options.protocol, options.node, options.check_method_names, options.encoding, options.meter,
                     options.in_flight, options.home}),
        model_(catalog, deadlines_, options.reload, options.home),
        health_(deadlines_),
        other_api_(options.other_api),
        end_streams_(options.end_streams) {
    ::grpc::ServerBuilder builder;
    Configure(options, builder);
    builder.RegisterService(&prediction_);
    builder.RegisterService(&model_);
    builder.RegisterService(&health_);
    if (options.profiles != nullptr) profiler_ = std::make_unique<ProfilerService>(*options.profiles, deadlines_);
    if (profiler_) builder.RegisterService(profiler_.get());
    for (::grpc::Service* service : options.extra_services) builder.RegisterService(service);
    if (other_api_) builder.RegisterService(other_api_.get());
    if (options.reflection) ::grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    if (!options.reflection) builder.SetOption(std::make_unique<NoReflection>());
    // Each acceptor has credentials of its own, because credentials pass a new identity to only one acceptor.
    for (const int fd : sockets) {
      rpc::AcceptorOptions accepting{.listen_fd = fd,
                                     .shared = options.shares_socket && fd == options.listen_fd,
                                     .credentials = rpc::MakeServerCredentials(options.credentials),
                                     .connections_max = options.connections_max,
                                     .counted = [this] { return connections(); }};
      acceptors_.push_back(std::make_unique<rpc::ConnectionAcceptor>(std::move(accepting), builder));
    }
    server_ = builder.BuildAndStart();
    CHECK(server_ != nullptr);
    for (const auto& acceptor : acceptors_) acceptor->Start();
  }

  ~Server() override {
    StopAccepting();
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  int port() const override { return port_; }
  int listen_fd() const override { return acceptors_.front()->listen_fd(); }
  size_t connections() const override {
    size_t sum = 0;
    for (const auto& acceptor : acceptors_) sum += acceptor->connections();
    return sum;
  }

  void SetServing(bool serving) override { health_.SetServing(serving); }

  void Drain() override {
    StopAccepting();
    health_.EndWatches();
    if (end_streams_) end_streams_();
    if (profiler_) profiler_->Drain();
    const auto until = steady_clock::now() + std::chrono::duration_cast<milliseconds>(drain_max_);
    const auto log = [](size_t left) { spdlog::info("draining: {} gRPC connections are left", left); };
    for (const auto& acceptor : acceptors_) acceptor->AwaitNoConnections(log, until);
    if (const size_t left = connections(); left > 0) {
      spdlog::warn("closing {} gRPC connections: the drain timeout has passed", left);
    }
    server_->Shutdown(std::chrono::system_clock::now());
  }

 private:
  void StopAccepting() {
    for (const auto& acceptor : acceptors_) acceptor->StopAccepting();
  }

  const int port_;
  const std::chrono::duration<double, std::milli> drain_max_;
  rpc::AnswerDeadlines deadlines_;
  PredictionService prediction_;
  ModelService model_;
  HealthService health_;
  const std::shared_ptr<::grpc::Service> other_api_;
  const std::function<void()> end_streams_;
  std::unique_ptr<ProfilerService> profiler_;  // Null: not offered.
  std::vector<std::unique_ptr<rpc::ConnectionAcceptor>> acceptors_;
  std::unique_ptr<::grpc::Server> server_;
};

}  // namespace

Result<std::unique_ptr<GrpcServer>> GrpcServer::Start(GrpcOptions options, routing::Predictor& predictor,
                                                      const Catalog& catalog) {
  std::vector<int> sockets;
  if (options.listen_fd >= 0) sockets.push_back(options.listen_fd);
  if (options.socket_fd >= 0) sockets.push_back(options.socket_fd);
  if (sockets.empty()) {
    ASSIGN_OR_RETURN(const int fd, process::Listen(options.listen));
    sockets.push_back(fd);
  }
  return std::make_unique<Server>(options, sockets, predictor, catalog);
}

}  // namespace longshore::frontend
