// The command `longshore logs`: prints the logs of nodes and of the controller.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "controller/cli/logs/lines.h"
#include "controller/kube/cluster.h"
#include "controller/store/store.h"

namespace longshore::cli::logs {

// The word for the log of the controller. No node has this name: names of nodes contain the name of their fleet.
inline constexpr const char* kController = "controller";

struct Request {
  std::string of;  // The name of a node, "fleet/NAME" for all nodes of a fleet, or kController.
  std::string namespace_;
  Wanted wanted{};
};

// Where the objects are: the directory of manifests of this host, or a cluster.
struct Where {
  store::Store& store;
  Path manifests;
  std::optional<kube::Cluster> cluster;
};

// Prints the log. For a fleet each line begins with the name of its node; if one of its nodes has no log, prints those
// of the others and returns the error. Returns NotFound, which names the nearest node, if no fleet of the namespace has
// the node.
Status PrintLogs(const Where& where, const Request& request, const Clock& clock, std::ostream& out);

// All that Request::of may be, for completion.
Result<std::vector<std::string>> Known(store::Store& store, const std::string& namespace_);

}  // namespace longshore::cli::logs
