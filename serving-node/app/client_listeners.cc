#include "serving-node/app/client_listeners.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "common/os/log.h"
#include "common/os/processors.h"
#include "serving-node/frontend/oip/grpc_service.h"
#include "serving-node/frontend/oip/rest.h"
#include "serving-node/frontend/refusals.h"

namespace longshore::app {
namespace {

constexpr std::chrono::milliseconds kDrainSpread{2000};

// Returns a copy of the descriptor; an invalid one if `socket` is invalid.
Result<process::Descriptor> Copy(const process::Descriptor& socket) {
  if (!socket.valid()) return process::Descriptor();
  process::Descriptor copy(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  if (copy.valid()) return copy;
  return ResourceExhausted("cannot copy the listening socket {}: {}", socket.get(), strerror(errno));
}

// The ReloadFunction of a node that accepts no reload requests.
void RefuseReloads(const tensorflow::serving::ModelServerConfig&, std::chrono::steady_clock::time_point,
                   const std::function<void(Status)>& done) {
  done(frontend::ReloadsDisabled());
}

frontend::RestOptions RestOptionsOf(const flags::Flags& flags) {
  frontend::RestOptions options;
  options.threads = flags.rest_api_num_threads > 0 ? flags.rest_api_num_threads : Processors();
  if (flags.managed()) options.node = flags.node;  // As with gRPC.
  options.timeout = std::chrono::milliseconds(flags.rest_api_timeout_in_ms);
  options.cors = flags.rest_api_enable_cors_support;
  options.metrics_path = flags.observe.metrics_path;
  options.check_method_names = flags.enable_signature_method_name_check;
  options.connections_max = flags.listeners.rest_connections_max;
  options.body_bytes_max = flags.listeners.rest_body_bytes_max;
  options.bodies_bytes_max = flags.listeners.rest_bodies_bytes_max;
  options.stop_timeout = std::chrono::milliseconds(flags.listeners.rest_drain_timeout_ms);
  options.gzip_bytes_min = flags.listeners.rest_gzip_bytes_min;
  options.bytes_per_second_min = flags.listeners.rest_bytes_per_second_min;
  options.budget = flags.limits.budget;
  return options;
}

}  // namespace

frontend::GrpcOptions GrpcOptionsOf(const flags::Flags& flags, routing::Protocol protocol) {
  frontend::GrpcOptions options;
  options.protocol = protocol;
  options.threads = Processors();
  if (flags.managed()) options.node = flags.node;  // The name of a single server means nothing to its clients.
  options.check_method_names = flags.enable_signature_method_name_check;
  options.connection_age_max_ms = flags.connection_age_max_ms;
  options.receive_bytes_max = flags.listeners.grpc_receive_bytes_max;
  options.memory_bytes_max = flags.listeners.grpc_memory_bytes_max;
  options.answer_time.bytes_per_second_min = flags.listeners.grpc_bytes_per_second_min;
  options.drain_timeout = std::chrono::milliseconds(flags.listeners.grpc_drain_timeout_ms);
  if (protocol == routing::Protocol::kPeer)
    return options;  // The limits for clients do not apply: a peer's connection carries the requests of many clients.
  options.streams_max = flags.listeners.grpc_streams_max;
  options.channel_arguments = flags.grpc_channel_arguments;
  options.connections_max = flags.listeners.grpc_connections_max;
  options.reflection = flags.listeners.enable_reflection;
  return options;
}

ClientListeners::ClientListeners(const flags::Flags& flags, Components& components, Security security,
                                 ListeningSockets sockets)
    : flags_(flags), components_(components), security_(std::move(security)), sockets_(std::move(sockets)) {}

ClientListeners::~ClientListeners() {
  if (retire_.joinable()) retire_.join();
}

Result<ClientListeners::Servers> ClientListeners::Start(int64_t connection_age_max_ms) const {
  Servers servers;
  servers.connection_age_max_ms = connection_age_max_ms;
  if (sockets_.grpc.valid() || sockets_.grpc_socket.valid()) {
    auto options = GrpcOptionsOf(flags_, routing::Protocol::kGrpc);
    ASSIGN_OR_RETURN(process::Descriptor port, Copy(sockets_.grpc));
    ASSIGN_OR_RETURN(process::Descriptor socket, Copy(sockets_.grpc_socket));
    options.listen_fd = port.Release();
    options.shares_socket = flags_.grpc_listen_fd >= 0;
    options.socket_fd = socket.Release();
    options.connection_age_max_ms = connection_age_max_ms;
    options.reload = flags_.listeners.enable_reload_requests ? components_.reload : RefuseReloads;
    if (flags_.observe.enable_profiler) options.profiles = &components_.profiles;
    options.tls = security_.grpc_tls;
    options.gate = ToCallGate(security_.client_gate);
    options.meter = components_.requests.get();
    options.in_flight = components_.in_flight.get();
    if (flags_.enable_serialization_as_tensor_content) options.encoding = tensor::Encoding::kContent;
    const auto oip = std::make_shared<frontend::oip::GrpcService>(
        *components_.oip,
        frontend::CallOptions{.node = options.node, .meter = options.meter, .in_flight = options.in_flight});
    options.add_methods = [oip](grpc_server::Service& service) { oip->AddTo(service); };
    options.end_streams = [oip] { oip->EndStreams(); };
    ASSIGN_OR_RETURN(servers.grpc, frontend::GrpcServer::Start(options, *components_.predictor, *components_.catalog));
  }
  if (sockets_.rest.valid()) {
    auto options = RestOptionsOf(flags_);
    options.tls = security_.rest_tls;
    options.gate = security_.client_gate;
    options.meter = components_.requests.get();
    options.in_flight = components_.in_flight.get();
    ASSIGN_OR_RETURN(process::Descriptor port, Copy(sockets_.rest));
    options.listen_fd = port.Release();
    options.shares_socket = flags_.rest_listen_fd >= 0;
    options.connection_age_max_ms = connection_age_max_ms;
    options.other_api = std::make_shared<frontend::oip::Rest>(
        *components_.oip,
        frontend::oip::Rest::Options{
            .timeout = options.timeout, .meter = options.meter, .in_flight = options.in_flight, .cors = options.cors});
    ASSIGN_OR_RETURN(servers.rest, frontend::RestServer::Start(options, *components_.predictor, *components_.catalog,
                                                               [this] { return components_.registry.Text(); }));
  }
  return servers;
}

Status ClientListeners::Open(int64_t connection_age_max_ms) {
  ASSIGN_OR_RETURN(servers_, Start(connection_age_max_ms));
  const auto over = [](const auto& tls) {
    return !tls ? "" : tls->current()->verify_client ? " over mutual TLS" : " over TLS";
  };
  if (sockets_.grpc_socket.valid())
    spdlog::info("listening for gRPC on {}", flags_.listeners.grpc_socket_path.string());
  if (sockets_.grpc.valid())
    spdlog::info("listening for gRPC on port {}{}", sockets_.grpc_port, over(security_.grpc_tls));
  if (servers_.rest) spdlog::info("listening for REST on port {}{}", sockets_.rest_port, over(security_.rest_tls));
  open_ = true;
  return {};
}

void ClientListeners::SetConnectionAge(int64_t connection_age_max_ms) {
  if (!open_ || retiring_ || connection_age_max_ms == servers_.connection_age_max_ms) return;
  if (retire_.joinable()) retire_.join();
  auto next = Start(connection_age_max_ms);
  if (!next) {
    spdlog::error("cannot change the maximum age of connections from {} to {} ms: {}", servers_.connection_age_max_ms,
                  connection_age_max_ms, next.error().message);
    servers_.connection_age_max_ms = connection_age_max_ms;  // Try again only when the wanted age changes.
    return;
  }
  if (next->grpc) next->grpc->SetServing(serving_);
  Retire(std::exchange(servers_, std::move(*next)));
  spdlog::info("new connections have a maximum age of {} ms", connection_age_max_ms);
}

void ClientListeners::Retire(Servers servers) {
  retired_ = std::move(servers);
  retiring_ = true;
  retire_ = std::thread([this] {
    retired_.Drain();
    retiring_ = false;
  });
}

size_t ClientListeners::MoveConnections(const node_contract::ConnectionLimits& limits) const {
  std::vector<http::OpenConnection> open;
  if (servers_.grpc) open = servers_.grpc->OpenConnections();
  if (servers_.rest) std::ranges::move(servers_.rest->OpenConnections(), std::back_inserter(open));
  std::vector<double> loads;
  for (const http::OpenConnection& each : open) loads.push_back(each.requests_per_second);
  const std::vector<size_t> chosen = node_contract::ChooseConnections(loads, limits);
  for (const size_t i : chosen) open[i].ask_to_move();
  return chosen.size();
}

void ClientListeners::SetServing(bool serving) {
  components_.serving = serving;
  if (serving == serving_) return;
  for (const Servers* each : {&servers_, &retired_}) {
    if (each->grpc) each->grpc->SetServing(serving);
  }
  serving_ = serving;
}

size_t ClientListeners::connections() const { return servers_.connections() + retired_.connections(); }

void ClientListeners::Drain(int64_t time_max_ms) {
  sockets_.grpc.Reset();
  sockets_.grpc_socket.Reset();
  sockets_.rest.Reset();
  SetServing(false);
  EndConnectionsWithin(time_max_ms > 0 ? std::min(kDrainSpread, std::chrono::milliseconds(time_max_ms / 4))
                                       : kDrainSpread);
  servers_.Drain();
  if (retire_.joinable()) retire_.join();
}

void ClientListeners::EndConnectionsWithin(std::chrono::milliseconds spread) {
  for (const Servers* each : {&servers_, &retired_}) {
    if (each->grpc) each->grpc->EndConnectionsWithin(spread);
  }
}

void ClientListeners::Servers::Drain() {
  std::thread rest_drain([this] {
    if (rest) rest->Drain();
  });
  if (grpc) grpc->Drain();
  rest_drain.join();
}

size_t ClientListeners::Servers::connections() const {
  return (grpc ? grpc->connections() : 0) + (rest ? rest->connections() : 0);
}

}  // namespace longshore::app
