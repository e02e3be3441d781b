// Measures what each version of each Model does, from the reports of the nodes and the statuses of the Models.
//
// No I/O: the caller reads the Models and the views of the nodes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "controller/api/types.h"
#include "controller/console/history.h"
#include "controller/nodes/nodes.h"

namespace longshore::console {

// Key: the fleet, "namespace/name".
using NodesOfFleets = std::map<std::string, std::vector<nodes::ViewPtr>>;

// Keeps the previous report of each node, which is limited by the size of a report and by the number of nodes that a
// controller accepts. Not thread-safe.
class Sampler {
 public:
  // Adds a point for each version that serves, that has a label, that a rollout compares, or that had requests since
  // the last call. The first call adds no traffic, because rates need two samples. Also adds what the evidence of each
  // rollout shows, once what it showed at the end, and the worst pairs of each Model's newest rollout.
  void Sample(const std::vector<api::Model>& models, const NodesOfFleets& nodes, TimePoint now, History& history);

 private:
  struct Reported {
    std::string incarnation;
    std::shared_ptr<const control::Report> report;
  };
  using VersionName = std::pair<std::string, int64_t>;  // Served name and version.
  using Counts = std::map<VersionName, api::ArmEvidence>;

  static void AddCounts(const Reported& before, const Reported& now, Counts& counts);
  std::map<std::string, Counts> TakeReports(const NodesOfFleets& nodes);

  std::map<std::pair<std::string, std::string>, Reported> reported_;  // Key: fleet and node. At the last call.
  std::optional<TimePoint> sampled_at_;
};

// What the evidence of the Model's rollout shows now, or showed when the rollout ended; nullopt if it has no numbers.
std::optional<EvidencePoint> EvidenceOf(const api::Model& model, TimePoint now);

}  // namespace longshore::console
