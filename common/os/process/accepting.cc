#include "common/os/process/accepting.h"

#include <cerrno>
#include <cstring>

#include "common/os/log.h"

namespace longshore::process {

Accepting::Connection Accepting::Accept(int listen_fd) {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  Connection accepted{
      .fd = Descriptor(accept4(listen_fd, reinterpret_cast<sockaddr*>(&peer), &length, SOCK_NONBLOCK | SOCK_CLOEXEC))};
  if (accepted.fd.valid()) accepted.family = peer.ss_family;
  const bool failed = !accepted.fd.valid();
  const bool is_out = failed && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  if (is_out && !is_out_) log_("cannot accept " + what_ + " at the moment: " + strerror(errno));
  is_out_ = is_out;
  return accepted;
}

void Accepting::LogWarning(const std::string& message) { spdlog::warn("{}", message); }

}  // namespace longshore::process
