#include "serving-node/frontend/grpc_server.h"

#include <algorithm>
#include <limits>

#include "common/net/grpc_server/reflection.h"
#include "common/net/grpc_server/server.h"
#include "common/os/log.h"
#include "serving-node/frontend/channel_arguments.h"
#include "serving-node/frontend/grpc_services.h"
#include "serving-node/frontend/health_service.h"
#include "serving-node/frontend/profiler_service.h"
#include "serving-node/routing/forwarder.h"

namespace longshore::frontend {
namespace {

using std::chrono::milliseconds;

static_assert(routing::kKeepaliveTime > http2::Limits().ping_interval_min,
              "connections with too many pings are closed");
// As for the bodies of REST. Uploads of clients are often much slower than downloads.
constexpr size_t kReceivedPerSecondMin = size_t{16} << 10;
// Twice as much as for clients, because a request that is forwarded to a home node carries all metadata of its client.
constexpr size_t kHopMetadataBytesMax = 2 * http2::Limits().header_bytes_max;

http2::Options ToHttp2(const GrpcOptions& options) {
  const size_t memory = options.memory_bytes_max == 0 ? std::numeric_limits<size_t>::max() : options.memory_bytes_max;
  http2::Options http2{.address = options.listen,
                       .listen_fd = options.listen_fd >= 0 ? options.listen_fd : options.socket_fd,
                       .more_fd = options.listen_fd >= 0 ? options.socket_fd : -1,
                       .shares_socket = options.shares_socket,
                       .tls = options.tls,
                       .threads = options.threads,
                       .connections_max = options.connections_max,
                       .bytes_max = memory,
                       .connection_age_max = milliseconds(options.connection_age_max_ms),
                       .connection_age_grace = options.drain_timeout};
  http2.limits.streams_max = static_cast<uint32_t>(options.streams_max);
  http2.limits.answer_time = options.answer_time;
  if (options.protocol == routing::Protocol::kPeer) {
    http2.limits.header_bytes_max = kHopMetadataBytesMax;
    http2.limits.heads_bytes_max = memory;
    http2.limits.bytes_max = memory;
  }
  return http2;
}

CallOptions ToCallOptions(const GrpcOptions& options) {
  return {.protocol = options.protocol, .node = options.node, .meter = options.meter, .in_flight = options.in_flight};
}

class Server final : public GrpcServer {
 public:
  Server(const GrpcOptions& options, routing::Predictor& predictor, const Catalog& catalog)
      : drain_timeout_(options.drain_timeout),
        prediction_(predictor, catalog,
                    {ToCallOptions(options), options.check_method_names, options.encoding, options.home}),
        model_(catalog, options.reload, options.home),
        add_methods_(options.add_methods),
        end_streams_(options.end_streams) {
    if (options.profiles != nullptr) profiler_ = std::make_unique<ProfilerService>(*options.profiles);
  }

  Status Start(const GrpcOptions& options) {
    const auto service = std::make_shared<grpc_server::Service>();
    service->gate = options.gate;
    service->receive_time = {.bytes_per_second_min = kReceivedPerSecondMin};
    service->receive_bytes_max = static_cast<size_t>(options.receive_bytes_max);
    prediction_.AddTo(*service);
    model_.AddTo(*service);
    health_.AddTo(*service);
    if (profiler_) profiler_->AddTo(*service);
    if (add_methods_) add_methods_(*service);
    if (options.reflection) grpc_server::AddReflection(*service);
    http2::Options http2 = ToHttp2(options);
    for (const std::string& argument : options.channel_arguments) {
      if (SetChannelArgument(argument, &http2, &service->receive_bytes_max)) continue;
      spdlog::warn("--grpc_channel_arguments: \"{}\" has no effect", argument);
    }
    http2.limits.bytes_max = std::max(http2.limits.bytes_max, 2 * service->receive_bytes_max);
    ASSIGN_OR_RETURN(server_, grpc_server::Start(std::move(http2), service));
    return {};
  }

  int port() const override { return server_->port(); }
  int listen_fd() const override { return server_->listen_fd(); }
  size_t connections() const override { return server_->connections(); }
  std::vector<http::OpenConnection> OpenConnections() const override { return server_->OpenConnections(); }
  void SetServing(bool serving) override { health_.SetServing(serving); }

  void Drain() override {
    health_.EndWatches();
    if (end_streams_) end_streams_();
    if (profiler_) profiler_->Drain();
    server_->Drain(drain_timeout_);
  }
  void EndConnectionsWithin(milliseconds spread) override { server_->EndConnectionsWithin(spread); }

 private:
  const milliseconds drain_timeout_;
  PredictionService prediction_;
  ModelService model_;
  HealthService health_;
  const std::function<void(grpc_server::Service&)> add_methods_;
  const std::function<void()> end_streams_;
  std::unique_ptr<ProfilerService> profiler_;  // Null: not offered.
  std::unique_ptr<http2::Server> server_;
};

}  // namespace

Result<std::unique_ptr<GrpcServer>> GrpcServer::Start(GrpcOptions options, routing::Predictor& predictor,
                                                      const Catalog& catalog) {
  auto server = std::make_unique<Server>(options, predictor, catalog);
  RETURN_IF_ERROR(server->Start(options));
  return server;
}

}  // namespace longshore::frontend
