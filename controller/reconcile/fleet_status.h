// Computes the status of a fleet. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "controller/api/sentences.h"
#include "controller/api/types.h"
#include "controller/fleet/fleet.h"
#include "controller/reconcile/observe.h"

namespace longshore::reconcile {

// A problem of the manifest or other source of an object. The conditions of the object show it.
struct SourceProblem {
  std::string reason;
  std::string message;
};

struct FleetSeen {
  int64_t epoch = 0;
  std::vector<fleet::NodeInfo> processes{};
  const std::map<std::string, KnownNode>* nodes = nullptr;  // Key: node.
  // Nodes that a new controller cannot judge yet. They are as the status of before says.
  std::set<std::string> returning{};
  // Nodes whose process runs, but has not answered for a while.
  std::set<std::string> silent{};
  // Nodes whose process answers, but has no stream to the controller.
  std::set<std::string> unconnected{};
  Result<fleet::Addresses> addresses{};  // The addresses of the fleet, or why it cannot listen.
  int wanted = 0;                        // The number of nodes that the fleet should have.
  fleet::Progress progress{};            // What the fleet knows about its address and its nodes.
  Status scaled{};                       // An error if nodes could not be started or removed.
  std::optional<SourceProblem> manifest{};
  std::vector<api::Sentence> departing{};   // Nodes that wait until other nodes have their versions, and for which.
  std::vector<api::Sentence> unreadable{};  // Unreadable Models in the namespaces that the fleet serves, and why.
};

// Why the fleet cannot be set up or cannot have the nodes that it should have, and needs help; "" if there is no
// problem.
std::string TroubleOf(const FleetSeen& seen);

// Returns the status of `before`, updated with `seen`. The field `autoscale` is unchanged.
api::ServingFleetStatus DescribeFleet(const api::ServingFleet& before, const FleetSeen& seen, TimePoint now);

}  // namespace longshore::reconcile
