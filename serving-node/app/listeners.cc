#include "serving-node/app/listeners.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "common/json/json.h"
#include "common/os/file.h"

namespace longshore::app {
namespace {

struct SocketRequest {
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

Result<process::Descriptor> Open(const SocketRequest& request, const std::string& host) {
  if (request.fd >= 0) {
    if (!IsListening(request.fd))
      return InvalidArgument("{}={} is not a listening socket", request.fd_flag, request.fd);
    fcntl(request.fd, F_SETFD, FD_CLOEXEC);
    return process::Descriptor(request.fd);
  }
  if (request.port == flags::kPortOff) return process::Descriptor();
  const auto bound = process::Listen(process::HostPort(host, request.port));
  if (!bound) {
    return Fail(bound.error().code, "{}={}: {}", request.port_flag, request.port, bound.error().message);
  }
  return process::Descriptor(*bound);
}

int PortOrZero(const process::Descriptor& listener) {
  return listener.valid() ? process::LocalPort(listener.get()).value_or(0) : 0;
}

}  // namespace

Result<ListeningSockets> OpenListeningSockets(const flags::Flags& flags) {
  ListeningSockets sockets;
  ASSIGN_OR_RETURN(sockets.grpc, Open({"--port", flags.port, "--grpc_listen_fd", flags.grpc_listen_fd}, flags.host));
  ASSIGN_OR_RETURN(
      sockets.rest,
      Open({"--rest_api_port", flags.rest_api_port, "--rest_listen_fd", flags.rest_listen_fd}, flags.host));
  if (const Path& path = flags.listeners.grpc_socket_path; !path.empty()) {
    const auto bound = process::TakeOverUnix(path);
    if (!bound) return Prefixed(bound.error(), "--grpc_socket_path");
    sockets.grpc_socket = process::Descriptor(*bound);
  }
  sockets.grpc_port = PortOrZero(sockets.grpc);
  sockets.rest_port = PortOrZero(sockets.rest);
  return sockets;
}

Status WritePortFile(const Path& path, const ListeningSockets& sockets, int admin_port) {
  const Json ports = {{"grpc", sockets.grpc_port}, {"rest", sockets.rest_port}, {"admin", admin_port}};
  return WriteFileAtomically(path, ports.dump() + "\n");
}

}  // namespace longshore::app
