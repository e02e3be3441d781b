#include "common/net/http2/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace longshore::http2 {

std::string PeerAddress(int socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return "";
  if (peer.ss_family == AF_UNIX) return "unix:";
  char text[INET6_ADDRSTRLEN] = "";
  if (peer.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return fmt::format("ipv4:{}:{}", text, ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {  // A client with IPv4 of a socket that listens on "::".
    inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text, sizeof text);
    return fmt::format("ipv4:{}:{}", text, ntohs(v6.sin6_port));
  }
  inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return fmt::format("ipv6:[{}]:{}", text, ntohs(v6.sin6_port));
}

}  // namespace longshore::http2
