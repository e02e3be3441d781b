#include "controller/cli/input/ports.h"

#include <fmt/format.h>

#include <algorithm>

namespace longshore::cli::input {

std::vector<HostPort> PortsOf(const api::ServingFleetSpec& spec) {
  std::vector<HostPort> ports = {{"spec.ports.grpc", spec.grpc_port}, {"spec.ports.rest", spec.rest_port}};
  std::erase_if(ports, [](const HostPort& port) { return port.number == 0; });
  return ports;
}

std::vector<std::string> SharedPorts(const api::ServingFleetSpec& fleet, const api::ServingFleetSpec& other) {
  const std::vector<HostPort> taken = PortsOf(other);
  std::vector<std::string> shared;
  for (const HostPort& port : PortsOf(fleet)) {
    if (std::ranges::find(taken, port.number, &HostPort::number) == taken.end()) continue;
    shared.push_back(fmt::format("{}: port {} is also a port", port.field, port.number));
  }
  return shared;
}

}  // namespace longshore::cli::input
