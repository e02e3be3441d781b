// Measures what each version of each Model does, from the reports of the nodes and the statuses of the Models.
//
// No I/O: the caller reads the Models and the views of the nodes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "controller/api/types.h"
#include "controller/console/history.h"
#include "controller/nodes/nodes.h"
#include "controller/reconcile/evidence.h"

namespace longshore::console {

// Key: the fleet, "namespace/name".
using NodesOfFleets = std::map<std::string, std::vector<nodes::ViewPtr>>;

// Not thread-safe.
class Sampler {
 public:
  // Adds a point for each version that serves, that a rollout compares, or that had requests since the last call. The
  // first call adds no traffic, because rates need two samples.
  void Sample(const std::vector<api::Model>& models, const NodesOfFleets& nodes, TimePoint now, History& history);

 private:
  using VersionName = std::pair<std::string, int64_t>;  // Model and version.

  void TakeReports(const NodesOfFleets& nodes);
  void SampleVersions(const api::Model& model, Duration elapsed, TimePoint now, History& history,
                      std::map<VersionName, api::ArmEvidence>& counted) const;

  reconcile::EvidenceBook book_;
  std::set<std::pair<std::string, std::string>> known_;  // Fleets and nodes.
  std::map<VersionName, api::ArmEvidence> counted_;      // At the last call.
  std::optional<TimePoint> sampled_at_;
};

// What the evidence of the Model's rollout shows now; nullopt if no rollout is under way or it has no numbers yet.
std::optional<EvidencePoint> EvidenceOf(const api::Model& model, TimePoint now);

}  // namespace longshore::console
