// The sockets on which a node listens for clients. They are bound before any model is loaded, so that a port in use is
// reported at once.
#pragma once

#include "common/base/error.h"
#include "common/os/process/descriptors.h"
#include "serving-node/app/flags/flags.h"

namespace longshore::app {

struct ListeningSockets {
  process::Descriptor grpc;  // Each descriptor is invalid if the node does not listen there.
  process::Descriptor rest;
  process::Descriptor grpc_socket;  // A unix socket.
  int grpc_port = 0;                // 0: the node does not listen there.
  int rest_port = 0;
};

// Takes over the inherited sockets or binds the ports of the flags. Errors name the flag and the port or path.
Result<ListeningSockets> OpenListeningSockets(const flags::Flags& flags);

// Writes the ports as {"grpc": P, "rest": P, "admin": P}; 0 for a port that is not open.
Status WritePortFile(const Path& path, const ListeningSockets& sockets, int admin_port);

}  // namespace longshore::app
