// Certificates by which the nodes of one fleet know each other.
//
// All of a fleet have one DNS name that no other certificate has. It holds the fleet's uid, so that a fleet which is
// made again under its name is another one, and its namespace, so that nobody gets that of another namespace's fleet.
#pragma once

#include <string>

#include "common/error.h"
#include "common/tls/authority.h"
#include "controller/nodes/nodes.h"

namespace longshore::app {

// "UID.NAME.NAMESPACE.fleet.longshore.internal".
std::string FleetDnsName(const nodes::Identity& node);

// For a year, or as long as the authority lives. FailedPrecondition when the fleet's uid is not known; InvalidArgument
// as tls::Sign.
Result<control::Certificate> CertifyNode(const tls::KeyPair& authority, const nodes::Identity& node,
                                         const std::string& request);

}  // namespace longshore::app
