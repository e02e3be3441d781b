// Sockets and descriptors: listening ones that outlive a process, handed from one process to another.
//
// Plain descriptor numbers are owned by whoever receives them; Descriptor closes its own. All are close-on-exec.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/file.h"

namespace longshore::process {

// Owns one descriptor; -1: none.
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

// A listening TCP socket, non-blocking. Port 0: any free one, see LocalPort. FailedPrecondition naming host and port
// when the port is in use; InvalidArgument when the host is no address. Host: IPv4 or IPv6 in digits, or "localhost".
Result<int> ListenTcp(const std::string& host, int port);

// As ListenTcp for "host:port" ("[::1]:80" for IPv6), as ListenUnix for "unix:/path". InvalidArgument for anything
// else.
Result<int> Listen(const std::string& address);

// The port that a TCP socket is bound to.
Result<int> LocalPort(int socket);

// A listening unix socket at this path, with the permissions of its owner only. Replaces a socket file that nobody
// answers on; FailedPrecondition when somebody does. InvalidArgument when the path is longer than 107 bytes.
Result<int> ListenUnix(const Path& path);

// Unavailable when nobody listens there.
Result<int> ConnectUnix(const Path& path);

inline constexpr size_t kDescriptorsMax = 16;  // In one message.

// Sends copies of the descriptors through a connected unix socket; the caller keeps its own.
Status SendDescriptors(int socket, std::span<const int> descriptors);

// Waits for one SendDescriptors of the other side, at most timeout_ms. Descriptors beyond max are closed and an error.
Result<std::vector<int>> ReceiveDescriptors(int socket, size_t max, int timeout_ms = 5000);

}  // namespace longshore::process
