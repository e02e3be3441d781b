#include "serving-node/app/listeners.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "common/json/json.h"

namespace longshore::app {
namespace {

struct Wanted {
  const char* port_flag;
  int port;
  const char* fd_flag;
  int fd;
};

bool IsListening(int fd) {
  int listening = 0;
  socklen_t length = sizeof listening;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) == 0 && listening != 0;
}

Result<process::Descriptor> Open(const Wanted& wanted, const std::string& host) {
  if (wanted.fd >= 0) {
    if (!IsListening(wanted.fd)) return InvalidArgument("{}={} is no listening socket", wanted.fd_flag, wanted.fd);
    fcntl(wanted.fd, F_SETFD, FD_CLOEXEC);
    return process::Descriptor(wanted.fd);
  }
  if (wanted.port == kPortOff) return process::Descriptor();
  const auto bound = process::Listen(fmt::format("{}:{}", host, wanted.port));
  if (!bound) {
    return Fail(bound.error().code, "{}={}: {}", wanted.port_flag, wanted.port, bound.error().message);
  }
  return process::Descriptor(*bound);
}

int PortOrZero(const process::Descriptor& listener) {
  return listener.valid() ? process::LocalPort(listener.get()).value_or(0) : 0;
}

}  // namespace

Result<Listeners> OpenListeners(const Flags& flags) {
  Listeners listeners;
  ASSIGN_OR_RETURN(listeners.grpc, Open({"--port", flags.port, "--grpc_listen_fd", flags.grpc_listen_fd}, flags.host));
  ASSIGN_OR_RETURN(
      listeners.rest,
      Open({"--rest_api_port", flags.rest_api_port, "--rest_listen_fd", flags.rest_listen_fd}, flags.host));
  if (const Path& path = flags.doors.grpc_socket_path; !path.empty()) {
    const auto bound = process::ListenUnix(path);
    if (!bound) return Prefixed(bound.error(), "--grpc_socket_path");
    listeners.grpc_socket = process::Descriptor(*bound);
  }
  listeners.grpc_port = PortOrZero(listeners.grpc);
  listeners.rest_port = PortOrZero(listeners.rest);
  return listeners;
}

Status WritePortFile(const Path& path, const Listeners& listeners, int admin_port) {
  const Json ports = {{"grpc", listeners.grpc_port}, {"rest", listeners.rest_port}, {"admin", admin_port}};
  return WriteFileAtomically(path, ports.dump() + "\n");
}

}  // namespace longshore::app
