// The ports of the fleets of one host, of which no two fleets may have the same.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/api/types.h"

namespace longshore::cli::input {

using Fleets = std::map<api::Key, api::ServingFleetSpec>;

// A port of a fleet. A fleet whose port is 0 gets a free one and has none here.
struct HostPort {
  std::string field;  // "spec.ports.grpc".
  int number;
};

std::vector<HostPort> PortsOf(const api::ServingFleetSpec& spec);

// Returns a text for each port of the fleet that the other one has, too: "spec.ports.rest: port 8501 is also a port".
std::vector<std::string> SharedPorts(const api::ServingFleetSpec& fleet, const api::ServingFleetSpec& other);

}  // namespace longshore::cli::input
