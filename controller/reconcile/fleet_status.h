// Computes the status of a fleet. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "controller/api/sentences.h"
#include "controller/api/types.h"
#include "controller/fleet/fleet.h"
#include "controller/reconcile/observe.h"

namespace longshore::reconcile {

// A problem of the manifest or other source of an object, for its conditions.
struct SourceProblem {
  std::string reason;
  std::string message;
};

struct FleetSeen {
  int64_t epoch = 0;
  std::vector<fleet::NodeInfo> processes{};
  const std::map<std::string, KnownNode>* nodes = nullptr;  // By name.
  Result<fleet::Addresses> addresses{};                     // Its addresses, or why it cannot listen.
  Status scaled{};                                          // An error if nodes could not be started or removed.
  std::optional<SourceProblem> manifest{};
  std::vector<api::Sentence> unreadable{};  // Unreadable Models in the namespaces that it serves, and why.
};

// The status of `before` updated with `seen`. status.autoscale is unchanged.
api::ServingFleetStatus DescribeFleet(const api::ServingFleet& before, const FleetSeen& seen, TimePoint now);

}  // namespace longshore::reconcile
