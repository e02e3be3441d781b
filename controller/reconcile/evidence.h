// What every version did on every node, added up over restarts from the growing counts in the reports.
//
// Each request is in exactly one window. The first report of an incarnation that was running before we listened counts
// for nothing: what came before is in the status already, or lost, but never twice. Only what the nodes speak of is
// kept: a version that no report names any more is forgotten.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "controller/analysis/analysis.h"
#include "controller/api/types.h"
#include "longshore/control.pb.h"

namespace longshore::reconcile {

// Pure of I/O; belongs to one thread.
class EvidenceBook {
 public:
  // Takes what is new in a report. The same report again adds nothing.
  void Take(const std::string& fleet, const std::string& node, const std::string& incarnation,
            const control::Report& report);

  // Since the last Use, by node. Nodes where nothing happened are left out.
  analysis::Windows Windows(const std::string& fleet, const std::string& served_name, int64_t candidate,
                            int64_t stable) const;
  // All that was ever seen, over all nodes.
  api::ArmEvidence Past(const std::string& fleet, const std::string& served_name, int64_t version) const;

  // The windows were used up to here: what is in `used` is in no later window.
  void Use(const std::string& fleet, const std::string& served_name, int64_t candidate, int64_t stable,
           const analysis::Windows& used);

  // While nothing is judged, and when a rollout begins: the windows are empty, and nodes that were forgotten are one.
  void EmptyWindows(const std::string& fleet, const std::string& served_name);

  // The node has left the fleet. What it did still counts.
  void ForgetNode(const std::string& fleet, const std::string& node);

  // Entries that are kept.
  size_t size() const { return sums_.size() + nodes_.size(); }

 private:
  struct VersionKey {
    std::string fleet;
    std::string served_name;
    int64_t version = 0;
    std::string node;

    auto operator<=>(const VersionKey&) const = default;
  };
  using VersionName = std::pair<std::string, int64_t>;  // Served name and version.
  struct Incarnation {
    std::string id;
    std::map<VersionName, api::ArmEvidence> counted;  // The newest counts of each version.
  };
  struct Sums {
    api::ArmEvidence past;
    api::ArmEvidence used;
  };

  void ForgetUnnamed(const std::string& fleet, const VersionName& version);
  template <typename Visit>
  void ForEach(const std::string& fleet, const std::string& served_name, int64_t version, Visit visit) const;

  std::map<std::pair<std::string, std::string>, Incarnation> nodes_;  // By fleet and node.
  std::map<VersionKey, Sums> sums_;
};

// more - less, where less was counted earlier: never below 0.
api::ArmEvidence Difference(const api::ArmEvidence& more, const api::ArmEvidence& less);

}  // namespace longshore::reconcile
