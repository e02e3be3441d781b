// The address of a connection's client, as a text.
#pragma once

#include <string>

namespace longshore::http2 {

// Returns the address as gRPC writes it: "ipv4:127.0.0.1:1234", "ipv6:[::1]:1234" or "unix:"; "" if the socket is not
// connected.
std::string PeerAddress(int socket);

}  // namespace longshore::http2
