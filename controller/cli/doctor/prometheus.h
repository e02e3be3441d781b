// Checks of the Prometheus by which a fleet scales, and of what collects metrics in a cluster. Pure.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/json/json.h"
#include "controller/api/types.h"
#include "controller/cli/doctor/finding.h"

namespace longshore::cli::doctor {

// The answers of a Prometheus about the nodes of a fleet.
struct Series {
  Result<Json> names;   // The answer to NamesQuery.
  Result<Json> oldest;  // The answer to OldestQuery.
};
// PromQL: the metrics of the fleet by name, and the time of the oldest node's newest sample.
std::string NamesQuery(const std::string& fleet);
std::string OldestQuery(const std::string& fleet);

// Where `longshore` runs. In a cluster the URL may resolve only for the controller.
enum class Reach { kLikeController, kOther };

// Returns nothing if the fleet does not scale by Prometheus.
Findings CheckPrometheus(const api::ServingFleet& fleet, const Series& series, Reach reach, TimePoint now);

// `monitors`: the PodMonitors of the cluster; `helm`: see workloads.h. Returns nothing unless a fleet scales by
// Prometheus.
Findings CheckMonitors(const std::vector<api::ServingFleet>& fleets, const Result<Json>& monitors,
                       const std::string& helm);

}  // namespace longshore::cli::doctor
