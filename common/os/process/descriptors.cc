#include "common/os/process/descriptors.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "common/os/process/port_holder.h"

namespace longshore::process {
namespace {

constexpr int kBacklog = 4096;  // The kernel reduces it to its own limit.

Result<sockaddr_un> UnixAddress(const Path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.native().size() >= sizeof(address.sun_path)) {
    return InvalidArgument("the socket path \"{}\" must have 1 to {} bytes; choose a directory with a shorter path",
                           path.string(), sizeof(address.sun_path) - 1);
  }
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  return address;
}

bool HasIpv6() { return Descriptor(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)).valid() || errno != EAFNOSUPPORT; }

template <typename Address>
const sockaddr* Generic(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

}  // namespace

void Descriptor::Reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

std::string HostPort(const std::string& host, int port) {
  const bool needs_brackets = host.find(':') != std::string::npos && !host.starts_with('[');
  return needs_brackets ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<int> ListenTcp(const std::string& host, int port) {
  if (host == "::" && !HasIpv6()) return ListenTcp("0.0.0.0", port);
  addrinfo hints{};
  hints.ai_family = host == "localhost" ? AF_INET : AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV | (host == "localhost" ? 0 : AI_NUMERICHOST);
  addrinfo* found = nullptr;
  if (port < 0 || port > 65535) return InvalidArgument("port {} is not between 0 and 65535", port);
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return InvalidArgument("\"{}\" is not an address to listen on", host);
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  Descriptor socket_fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_fd.valid()) return Unavailable("cannot create a socket: {}", std::strerror(errno));
  const int on = 1;
  const int off = 0;
  setsockopt(socket_fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  setsockopt(socket_fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (found->ai_family == AF_INET6) setsockopt(socket_fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (bind(socket_fd.get(), found->ai_addr, found->ai_addrlen) != 0 || listen(socket_fd.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE)
      return FailedPrecondition("port {} on {} is in use by {}", port, host, HolderOf(port).text);
    return Unavailable("cannot listen on {}: {}", HostPort(host, port), std::strerror(errno));
  }
  return socket_fd.Release();
}

Result<int> LocalPort(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return InvalidArgument("descriptor {} is not a bound socket: {}", socket, std::strerror(errno));
  }
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return InvalidArgument("descriptor {} is not a TCP socket", socket);
}

Result<int> ConnectUnix(const Path& path) {
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(path));
  Descriptor socket_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket_fd.valid()) return Unavailable("cannot create a socket: {}", std::strerror(errno));
  if (connect(socket_fd.get(), Generic(address), sizeof(address)) != 0) {
    return Unavailable("cannot connect to {}: {}", path.string(), std::strerror(errno));
  }
  return socket_fd.Release();
}

Result<int> TakeOverUnix(const Path& path) {
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(path));
  Descriptor socket_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_fd.valid()) return Unavailable("cannot create a socket: {}", std::strerror(errno));
  struct stat file {};
  if (stat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode)) unlink(path.c_str());
  if (bind(socket_fd.get(), Generic(address), sizeof(address)) != 0 || chmod(path.c_str(), 0600) != 0 ||
      listen(socket_fd.get(), kBacklog) != 0) {
    return Unavailable("cannot listen on {}: {}", path.string(), std::strerror(errno));
  }
  return socket_fd.Release();
}

Result<int> ListenUnix(const Path& path) {
  if (const auto other = ConnectUnix(path); other) {
    close(*other);
    return FailedPrecondition("{} is in use by another process", path.string());
  }
  return TakeOverUnix(path);
}

Result<int> Listen(const std::string& address) {
  if (address.starts_with("unix:")) return ListenUnix(address.substr(5));
  const size_t colon = address.rfind(':');
  int port = 0;
  const char* end = address.data() + address.size();
  const auto parsed = std::from_chars(colon == address.npos ? end : address.data() + colon + 1, end, port);
  if (parsed.ec != std::errc() || parsed.ptr != end)
    return InvalidArgument("\"{}\" is neither host:port nor unix:/path", address);
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return ListenTcp(host, port);
}

Status SendDescriptors(int socket, std::span<const int> descriptors) {
  if (descriptors.empty() || descriptors.size() > kDescriptorsMax) {
    return InvalidArgument("cannot send {} descriptors in one message; 1 to {} are possible", descriptors.size(),
                           kDescriptorsMax);
  }
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control{};
  char byte = 'd';
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  while (sendmsg(socket, &message, MSG_NOSIGNAL) != 1) {
    if (errno != EINTR) return Unavailable("cannot send descriptors: {}", std::strerror(errno));
  }
  return {};
}

Result<std::vector<int>> ReceiveDescriptors(int socket, size_t max, int timeout_ms) {
  pollfd readable{socket, POLLIN, 0};
  if (poll(&readable, 1, timeout_ms) <= 0) return DeadlineExceeded("received no descriptors within {} ms", timeout_ms);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control{};
  char byte = 0;
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (n < 0) return Unavailable("cannot receive descriptors: {}", std::strerror(errno));
  std::vector<int> received;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const size_t before = received.size();
    received.resize(before + count);
    std::memcpy(&received[before], CMSG_DATA(header), count * sizeof(int));
  }
  if (received.size() <= max && !received.empty()) return received;
  for (const int fd : received) close(fd);
  if (received.empty()) return Unavailable("the other side closed the socket without sending descriptors");
  return InvalidArgument("received {} descriptors; expected at most {}", received.size(), max);
}

}  // namespace longshore::process
