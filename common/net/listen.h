// Listening sockets by address.
#pragma once

#include <string>

#include "common/error.h"

namespace longshore::net {

// A non-blocking listening socket at "host:port" (port 0: any free one; "[::1]:80" for IPv6) or "unix:/path" (what a dead
// process left there is replaced). FailedPrecondition naming the address when it is in use; InvalidArgument when it is
// no address. The caller closes it.
Result<int> Listen(const std::string& address);

// The TCP port of a listening socket; 0 for a unix socket.
int PortOf(int listen_fd);

}  // namespace longshore::net
