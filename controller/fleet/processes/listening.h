// The listening sockets of a fleet. They are bound once. Each process that has them can pass them on to other
// processes.
#pragma once

#include <string>

#include "common/base/error.h"
#include "common/os/process/descriptors.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/processes/node_record.h"
#include "controller/fleet/processes/options.h"

namespace longshore::fleet::processes {

struct Sockets {
  process::Descriptor grpc;
  process::Descriptor rest;
};

// Binds new sockets. Returns FailedPrecondition, which names the port, its field in the spec, and the process that has
// the port, if a port is in use.
Result<Sockets> BindSockets(const std::string& host, const Spec& spec);

// Receives the sockets from a node that uses them. Returns Unavailable if it does not answer with two sockets in time.
Result<Sockets> ReceiveSockets(const NodePaths& paths, int timeout_ms);

// Refuses new connections at these sockets from now on, in all processes that have them. Closing them would not: the
// connections would wait until the last process has closed its copy.
void RefuseConnections(const Sockets& sockets);

// Returns FailedPrecondition if the ports in the spec differ from those of the sockets.
Result<Addresses> AddressesOf(const Sockets& sockets, const std::string& host, const Spec& spec);

}  // namespace longshore::fleet::processes
