// Certificates by which the nodes of one fleet authenticate each other.
//
// All nodes of a fleet have the same DNS name in their certificates, and no other certificate has it. The name contains
// the fleet's uid, so that a fleet that is created again under the same name gets another DNS name. It also contains
// the fleet's namespace, so that fleets of the same name in two namespaces have different DNS names.
#pragma once

#include <string>

#include "common/base/error.h"
#include "common/net/tls/authority.h"
#include "controller/nodes/nodes.h"

namespace longshore::app {

// "UID.NAME.NAMESPACE.fleet.longshore.internal".
std::string FleetDnsName(const nodes::Identity& node);

// Signs a certificate that is valid for a year, or until the authority expires if that is earlier. Returns
// FailedPrecondition if the fleet's uid is not known, and InvalidArgument as tls::Sign does.
Result<control::Certificate> CertifyNode(const tls::KeyPair& authority, const nodes::Identity& node,
                                         const std::string& request);

}  // namespace longshore::app
