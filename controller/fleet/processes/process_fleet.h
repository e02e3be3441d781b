// Fleets of child processes on this host. Nodes have names of the form "namespace.fleet-0".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/fleet/fleet.h"
#include "controller/fleet/processes/named_nodes.h"

namespace longshore::fleet::processes {

std::unique_ptr<Fleet> MakeProcessFleet(std::unique_ptr<NamedNodes> nodes);

}  // namespace longshore::fleet::processes
