// What is said of a fleet in its status. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/api/types.h"
#include "controller/fleet/fleet.h"
#include "controller/reconcile/observe.h"

namespace longshore::reconcile {

// What is wrong with where an object comes from, for its conditions.
struct SourceProblem {
  std::string reason;
  std::string message;
};

struct FleetSeen {
  int64_t epoch = 0;
  std::vector<fleet::NodeInfo> processes{};
  const std::map<std::string, KnownNode>* nodes = nullptr;  // By name.
  Result<fleet::Addresses> addresses{};                     // Where it listens, or why it does not.
  Status scaled{};                                          // Why nodes could not be started or told to leave.
  std::optional<SourceProblem> manifest{};
  std::vector<std::string> unreadable{};  // Models of namespaces it serves that cannot be read, and why.
};

// `before` with what is seen now. status.autoscale stays as it is.
api::ServingFleetStatus DescribeFleet(const api::ServingFleet& before, const FleetSeen& seen, TimePoint now);

}  // namespace longshore::reconcile
