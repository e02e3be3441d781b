#include "controller/app/node_certificates.h"

#include "controller/api/types.h"

namespace longshore::app {
namespace {

constexpr std::chrono::hours kLifetime{24 * 365};
constexpr const char* kDomain = "longshore.internal";

// Returns the SPIFFE id of a node, for people and tools. Other nodes do not check it: they check the fleet's DNS name.
std::string UriOf(const nodes::Identity& node) {
  const api::Key fleet = api::FleetKey(node.fleet);
  return fmt::format("spiffe://{}/ns/{}/fleet/{}/uid/{}/node/{}", kDomain, fleet.namespace_, fleet.name, node.fleet_uid,
                     node.node);
}

}  // namespace

std::string FleetDnsName(const nodes::Identity& node) {
  const api::Key fleet = api::FleetKey(node.fleet);
  return fmt::format("{}.{}.{}.fleet.{}", node.fleet_uid, fleet.name, fleet.namespace_, kDomain);
}

Result<control::Certificate> CertifyNode(const tls::KeyPair& authority, const nodes::Identity& node,
                                         const std::string& request) {
  if (node.fleet_uid.empty())
    return FailedPrecondition("pod {} does not name its ServingFleet: an older controller created it", node.node);
  const tls::Subject subject{
      .name = "longshore-node", .dns_names = {FleetDnsName(node)}, .addresses = {}, .uris = {UriOf(node)}};
  control::Certificate certificate;
  ASSIGN_OR_RETURN(*certificate.mutable_certificate(), tls::Sign(authority, request, subject, kLifetime));
  certificate.set_authorities(authority.certificate);
  certificate.set_fleet_name(FleetDnsName(node));
  return certificate;
}

}  // namespace longshore::app
