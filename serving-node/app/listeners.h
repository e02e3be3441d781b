// Everything a node listens on, bound before anything is loaded, so that a port in use is found at once.
#pragma once

#include "common/error.h"
#include "common/process/descriptors.h"
#include "serving-node/app/flags.h"

namespace longshore::app {

struct Listeners {
  process::Descriptor grpc;  // Invalid: not served on.
  process::Descriptor rest;
  process::Descriptor grpc_socket;  // A unix socket.
  int grpc_port = 0;                // 0: not served on.
  int rest_port = 0;
};

// Takes the inherited sockets or binds the ports. Errors name the flag and the port or path.
Result<Listeners> OpenListeners(const Flags& flags);

// Writes {"grpc": P, "rest": P, "admin": P}; 0 for what is not served on.
Status WritePortFile(const Path& path, const Listeners& listeners, int admin_port);

}  // namespace longshore::app
