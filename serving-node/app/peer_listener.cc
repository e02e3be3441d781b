#include "serving-node/app/peer_listener.h"

#include <utility>

#include "common/os/log.h"
#include "common/os/process/descriptors.h"
#include "serving-node/app/client_listeners.h"

namespace longshore::app {
namespace {

constexpr auto kCertificatePollInterval = std::chrono::seconds(1);

// Converts the address of --peer_address to the gRPC target for other nodes: inserts the actual port.
std::string TargetOf(const std::string& listen, int port) {
  if (port == 0) return listen;  // A unix socket.
  return process::HostPort(listen.substr(0, listen.rfind(':')), port);
}

Result<tls::Identity> Shown(identity::NodeIdentity& node) {
  const auto current = node.current();
  return tls::Identity{.certificate = current->own.certificate,
                       .key = current->own.key,
                       .client_ca = current->authorities,
                       .verify_client = true};
}

// Returns a gate that accepts only callers of this fleet. TLS has verified their certificates already, but the same
// authority also signs the certificates of other fleets.
grpc_server::Gate OfOneFleet(std::string fleet_name, grpc_server::Gate then) {
  return [fleet_name = std::move(fleet_name), then = std::move(then)](const grpc_server::CallHead& head) -> Status {
    if (!head.HasDnsName(fleet_name)) {
      return Fail(Code::kUnauthenticated, "the caller's certificate does not belong to the fleet {}", fleet_name);
    }
    return then ? then(head) : Status();
  };
}

routing::PeerLoad LoadOf(const batching::Admission& admission) {
  const batching::Load now = admission.load();
  return {now.running, now.queued, now.concurrent_runs_max};
}

}  // namespace

PeerListener::PeerListener(const flags::Flags& flags, Components& components, Security security,
                           routing::PeerService::GetStateFunction state)
    : flags_(flags),
      components_(components),
      security_(std::move(security)),
      service_(
          flags.fleet, [&components] { return LoadOf(*components.admission); }, std::move(state)) {}

Status PeerListener::Secure(frontend::GrpcOptions* options) const {
  options->gate = ToCallGate(security_.peer_gate);
  if (!components_.identity) return {};
  identity::NodeIdentity& identity = *components_.identity;
  ASSIGN_OR_RETURN(options->tls,
                   tls::Identities::Start(
                       "the certificate for peers", [&] { return Shown(identity); }, kCertificatePollInterval));
  options->gate = OfOneFleet(identity.current()->fleet_name, std::move(options->gate));
  return {};
}

Result<bool> PeerListener::OpenIfPossible() {
  const bool may_open = !components_.identity || components_.identity->current();
  if (server_ || flags_.peer_address.empty() || !may_open) return false;
  frontend::GrpcOptions options = GrpcOptionsOf(flags_, routing::Protocol::kPeer);
  options.listen = flags_.peer_address;
  options.add_methods = [this](grpc_server::Service& service) { service_.AddTo(service); };
  options.in_flight = components_.in_flight.get();
  options.meter = components_.requests.get();
  options.home = {components_.home_catalog.get(), flags_.fleet};
  RETURN_IF_ERROR(Secure(&options));
  auto server = frontend::GrpcServer::Start(options, *components_.router, *components_.own_catalog);
  if (!server) return Fail(server.error().code, "--peer_address={}: {}", flags_.peer_address, server.error().message);
  server_ = std::move(*server);
  server_->SetServing(true);
  const std::lock_guard lock(mutex_);
  address_ = TargetOf(flags_.peer_address, server_->port());
  spdlog::info("listening for peers on {}{}", address_, components_.identity ? ", with certificates" : "");
  return true;
}

std::string PeerListener::address() const {
  const std::lock_guard lock(mutex_);
  return address_;
}

void PeerListener::Drain() {
  if (!server_) return;
  server_->SetServing(false);
  server_->Drain();
}

}  // namespace longshore::app
