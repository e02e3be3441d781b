#include "common/net/listen.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace longshore::net {
namespace {

constexpr int kBacklog = 1024;

Result<int> ListenOn(int family, const sockaddr* address, socklen_t length, const std::string& name) {
  const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Internal("cannot make a socket for {}: {}", name, strerror(errno));
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(fd, address, length) != 0 || listen(fd, kBacklog) != 0) {
    const int reason = errno;
    close(fd);
    return FailedPrecondition("cannot listen on {}: {}", name, strerror(reason));
  }
  return fd;
}

// Whether a process listens there, or the file is one that a dead process left.
bool Answers(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool connected = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const bool busy = connected || errno == EAGAIN;
  close(fd);
  return busy;
}

Result<int> ListenUnix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return InvalidArgument("unix socket path \"{}\" must have 1 to {} characters", path, sizeof address.sun_path - 1);
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  if (Answers(address)) return FailedPrecondition("cannot listen on unix:{}: another process listens there", path);
  unlink(path.c_str());
  return ListenOn(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address, "unix:" + path);
}

Result<int> ListenTcp(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return InvalidArgument("\"{}\" is not host:port", address);
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (failed != 0) return InvalidArgument("\"{}\" is not host:port: {}", address, gai_strerror(failed));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  return ListenOn(found->ai_family, found->ai_addr, found->ai_addrlen, address);
}

}  // namespace

Result<int> Listen(const std::string& address) {
  if (address.starts_with("unix:")) return ListenUnix(address.substr(5));
  return ListenTcp(address);
}

int PortOf(int listen_fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(listen_fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
  return 0;
}

}  // namespace longshore::net
