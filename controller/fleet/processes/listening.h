// The sockets on which a fleet listens: bound once, and handed from process to process for as long as one of them
// lives.
#pragma once

#include <string>

#include "common/error.h"
#include "common/process/descriptors.h"
#include "controller/fleet/processes/named_nodes.h"
#include "controller/fleet/processes/node_record.h"

namespace longshore::fleet {

struct Sockets {
  process::Descriptor grpc;
  process::Descriptor rest;
};

// FailedPrecondition naming the port that is in use.
Result<Sockets> BindSockets(const std::string& host, const Spec& spec);

// From a node that accepts from them. Unavailable when it does not answer, or not with two sockets.
Result<Sockets> AskForSockets(const NodePaths& paths, int timeout_ms);

// FailedPrecondition when the spec wants other ports than these have.
Result<Addresses> AddressesOf(const Sockets& sockets, const std::string& host, const Spec& spec);

}  // namespace longshore::fleet
