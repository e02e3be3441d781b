// Reads the log of a controller.
#pragma once

#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "controller/api/types.h"
#include "controller/cli/logs/lines.h"
#include "controller/cli/logs/printer.h"
#include "controller/kube/cluster.h"

namespace longshore::cli::logs {

// The controller of a host writes to its standard error. Prints the file to which this leads. Returns
// FailedPrecondition, which says where to look instead, if it is not a file, or if no controller is running.
Status PrintHostController(const Path& manifests, const Wanted& wanted, TimePoint now, Printer& printer);

// Prints the log of the pod that holds the Lease which the fleets name. Returns FailedPrecondition if none does.
Status PrintClusterController(const kube::Cluster& cluster, const std::vector<api::ServingFleet>& fleets,
                              const Wanted& wanted, Printer& printer);

}  // namespace longshore::cli::logs
