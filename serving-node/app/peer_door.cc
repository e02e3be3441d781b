#include "serving-node/app/peer_door.h"

#include <utility>

#include "common/log.h"
#include "serving-node/app/doors.h"

namespace longshore::app {
namespace {

constexpr auto kLookForCertificate = std::chrono::seconds(1);

// What is listened on as what others dial: with the port that was free, and an IPv6 address in brackets.
std::string TargetOf(const std::string& listen, int port) {
  if (port == 0) return listen;  // A unix socket.
  std::string host = listen.substr(0, listen.rfind(':'));
  if (host.find(':') != std::string::npos && !host.starts_with('[')) host = fmt::format("[{}]", host);
  return fmt::format("{}:{}", host, port);
}

Result<tls::Identity> Shown(identity::NodeIdentity& node) {
  const auto current = node.current();
  return tls::Identity{.certificate = current->own.certificate,
                       .key = current->own.key,
                       .client_ca = current->authorities,
                       .verify_client = true};
}

// The certificate was verified already, but those of other fleets are by the same authority.
rpc::CallGate OfOneFleet(std::string fleet_name, rpc::CallGate then) {
  return [fleet_name = std::move(fleet_name), then = std::move(then)](const rpc::CallHead& head) -> Status {
    if (!head.ShowsDnsName(fleet_name)) {
      return Fail(Code::kUnauthenticated, "the caller's certificate is not of the fleet {}", fleet_name);
    }
    return then ? then(head) : Status();
  };
}

routing::PeerLoad LoadOf(const batching::Admission& admission) {
  const batching::Load now = admission.load();
  return {now.running, now.queued, now.concurrent_runs_max};
}

}  // namespace

PeerDoor::PeerDoor(const Flags& flags, Parts& parts, Security security, routing::PeerService::GetStateFunction state)
    : flags_(flags),
      parts_(parts),
      security_(std::move(security)),
      service_(
          flags.fleet, [&parts] { return LoadOf(*parts.admission); }, std::move(state)) {}

Result<rpc::CredentialsOptions> PeerDoor::Credentials() const {
  rpc::CredentialsOptions credentials{.tls = {}, .gate = ToCallGate(security_.peer_gate)};
  if (!parts_.identity) return credentials;
  identity::NodeIdentity& identity = *parts_.identity;
  ASSIGN_OR_RETURN(credentials.tls,
                   tls::Identities::Start(
                       "the certificate for peers", [&] { return Shown(identity); }, kLookForCertificate));
  credentials.gate = OfOneFleet(identity.current()->fleet_name, std::move(credentials.gate));
  return credentials;
}

Result<bool> PeerDoor::OpenIfPossible() {
  const bool may_open = !parts_.identity || parts_.identity->current();
  if (server_ || flags_.peer_address.empty() || !may_open) return false;
  frontend::GrpcOptions options = GrpcOptionsOf(flags_, routing::Protocol::kPeer);
  options.listen = flags_.peer_address;
  options.extra_services = {&service_};
  options.in_flight = parts_.in_flight.get();
  options.meter = parts_.requests.get();
  options.home = {parts_.home_catalog.get(), flags_.fleet};
  ASSIGN_OR_RETURN(options.credentials, Credentials());
  auto server = frontend::GrpcServer::Start(options, *parts_.router, *parts_.own_catalog);
  if (!server) return Fail(server.error().code, "--peer_address={}: {}", flags_.peer_address, server.error().message);
  server_ = std::move(*server);
  server_->SetServing(true);
  const std::lock_guard lock(mutex_);
  address_ = TargetOf(flags_.peer_address, server_->port());
  spdlog::info("peers come in by {}{}", address_, parts_.identity ? ", with certificates" : "");
  return true;
}

std::string PeerDoor::address() const {
  const std::lock_guard lock(mutex_);
  return address_;
}

void PeerDoor::Drain() {
  if (!server_) return;
  server_->SetServing(false);
  server_->Drain();
}

}  // namespace longshore::app
