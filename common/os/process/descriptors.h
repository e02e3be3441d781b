// Sockets, and passing descriptors between processes, so that a listening socket can outlive a process.
//
// Functions that return a plain descriptor number pass its ownership to the caller; a Descriptor closes its number. All
// descriptors are close-on-exec.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore::process {

// Owns one descriptor, or none (-1).
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) Reset(other.Release());
    return *this;
  }
  ~Descriptor() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

// Returns "host:port", with brackets around an IPv6 address: "[::1]:80".
std::string HostPort(const std::string& host, int port);

// Opens a non-blocking listening TCP socket. `host` is an IPv4 or IPv6 address, or "localhost". "::" means all
// addresses of this machine, of IPv6 and IPv4, or only of IPv4 if it has no IPv6; "0.0.0.0" means those of IPv4. Port 0
// means any free port, which LocalPort returns. Returns FailedPrecondition, with host and port, if the port is in use,
// and InvalidArgument if the host is not valid.
Result<int> ListenTcp(const std::string& host, int port);

// Calls ListenTcp for "host:port" ("[::1]:80" for IPv6), or ListenUnix for "unix:/path". Returns InvalidArgument for
// any other address.
Result<int> Listen(const std::string& address);

// The port that a TCP socket is bound to.
Result<int> LocalPort(int socket);

// Opens a listening unix socket at this path, accessible only for its owner. Replaces a socket file on which no process
// listens. Returns FailedPrecondition if a process listens on it, and InvalidArgument if the path is longer than 107
// bytes.
Result<int> ListenUnix(const Path& path);

// Like ListenUnix, but replaces the socket file even if a process listens on it, as gRPC does for "unix:" addresses
// (grpc_unlink_if_unix_domain_socket). This process keeps the connections that it has accepted, and gets no new ones.
// Returns Unavailable if the file is not a socket.
Result<int> TakeOverUnix(const Path& path);

// Connects to a unix socket. Returns Unavailable if no process listens on it.
Result<int> ConnectUnix(const Path& path);

inline constexpr size_t kDescriptorsMax = 16;  // Maximum number per message.

// Sends copies of the descriptors through a connected unix socket. The caller keeps the originals.
Status SendDescriptors(int socket, std::span<const int> descriptors);

// Waits up to timeout_ms for the descriptors of one call of SendDescriptors on the other side. If there are more than
// `max`, closes all of them and returns InvalidArgument.
Result<std::vector<int>> ReceiveDescriptors(int socket, size_t max, int timeout_ms = 5000);

}  // namespace longshore::process
