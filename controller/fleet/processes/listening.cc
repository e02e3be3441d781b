#include "controller/fleet/processes/listening.h"

#include <unistd.h>

namespace longshore::fleet::processes {

Result<Sockets> BindSockets(const std::string& host, const Spec& spec) {
  ASSIGN_OR_RETURN(const int grpc, process::ListenTcp(host, spec.grpc_port));
  process::Descriptor grpc_socket(grpc);
  ASSIGN_OR_RETURN(const int rest, process::ListenTcp(host, spec.rest_port));
  return Sockets{std::move(grpc_socket), process::Descriptor(rest)};
}

Result<Sockets> ReceiveSockets(const NodePaths& paths, int timeout_ms) {
  ASSIGN_OR_RETURN(const int connected, process::ConnectUnix(paths.handover_socket));
  const process::Descriptor connection(connected);
  ASSIGN_OR_RETURN(const std::vector<int> received, process::ReceiveDescriptors(connection.get(), 2, timeout_ms));
  if (received.size() == 2) return Sockets{process::Descriptor(received[0]), process::Descriptor(received[1])};
  for (const int fd : received) close(fd);
  return Unavailable("received {} sockets instead of 2", received.size());
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
