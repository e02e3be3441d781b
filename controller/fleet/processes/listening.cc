#include "controller/fleet/processes/listening.h"

#include <sys/socket.h>
#include <unistd.h>

#include "common/os/process/port_holder.h"

namespace longshore::fleet::processes {

namespace {

// A port that this process itself has is not one of a fleet: ProcessNodes::CheckPorts compares those.
Result<process::Descriptor> Bind(const std::string& host, int port, const char* field) {
  const Result<int> bound = process::ListenTcp(host, port);
  if (bound) return process::Descriptor(*bound);
  if (bound.error().code != Code::kFailedPrecondition) return Prefixed(bound.error(), field);
  const bool is_own = process::HolderOf(port).pid == getpid();
  return FailedPrecondition("{}: {}{}; choose another port there", field, bound.error().message,
                            is_own ? ", the controller (--admin_port or --console_port)" : "");
}

}  // namespace

Result<Sockets> BindSockets(const std::string& host, const Spec& spec) {
  ASSIGN_OR_RETURN(process::Descriptor grpc, Bind(host, spec.grpc_port, "spec.ports.grpc"));
  ASSIGN_OR_RETURN(process::Descriptor rest, Bind(host, spec.rest_port, "spec.ports.rest"));
  return Sockets{std::move(grpc), std::move(rest)};
}

Result<Sockets> ReceiveSockets(const NodePaths& paths, int timeout_ms) {
  ASSIGN_OR_RETURN(const int connected, process::ConnectUnix(paths.handover_socket));
  const process::Descriptor connection(connected);
  ASSIGN_OR_RETURN(const std::vector<int> received, process::ReceiveDescriptors(connection.get(), 2, timeout_ms));
  if (received.size() == 2) return Sockets{process::Descriptor(received[0]), process::Descriptor(received[1])};
  for (const int fd : received) close(fd);
  return Unavailable("received {} sockets instead of 2", received.size());
}

void RefuseConnections(const Sockets& sockets) {
  shutdown(sockets.grpc.get(), SHUT_RDWR);
  shutdown(sockets.rest.get(), SHUT_RDWR);
}

Result<Addresses> AddressesOf(const Sockets& sockets, const std::string& host, const Spec& spec) {
  const int grpc_port = process::LocalPort(sockets.grpc.get()).value_or(0);
  const int rest_port = process::LocalPort(sockets.rest.get()).value_or(0);
  if ((spec.grpc_port != 0 && spec.grpc_port != grpc_port) || (spec.rest_port != 0 && spec.rest_port != rest_port)) {
    return FailedPrecondition("the ports of a running fleet cannot change: it listens on {} and {}, not on {} and {}",
                              grpc_port, rest_port, spec.grpc_port, spec.rest_port);
  }
  return Addresses{process::HostPort(host, grpc_port), process::HostPort(host, rest_port)};
}

}  // namespace longshore::fleet::processes
