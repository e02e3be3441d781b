// longshore console: says where the web console is, and opens a way to that of a cluster.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "controller/cli/options.h"
#include "controller/cli/place.h"

namespace longshore::cli {

// On a host, prints the address of the console; FailedPrecondition if no controller is running or it has no console.
// On a cluster, prints the address and replaces this process by `kubectl port-forward` to the pod of the controller
// that leads. Returns an error if no controller leads, or kubectl could not be started.
Status ShowConsole(const Options& options, const Place& place, std::ostream& out);

// The arguments of kubectl for a port of this host that leads to the console of the pod.
std::vector<std::string> PortForward(const Options& options, const std::string& namespace_, const std::string& pod);

}  // namespace longshore::cli
