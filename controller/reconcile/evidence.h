// Counts what each version did on each node. Reports contain cumulative counts, which start at zero with each process;
// EvidenceBook adds them up across restarts of nodes.
//
// A window contains the counts since the evidence was last used; no request is in two windows. The first report of a
// process that ran before this controller connected only sets a baseline: the requests before it are either in the
// status of the Model already, or lost. Versions that no report contains any more are removed.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "controller/api/types.h"
#include "controller/decide/analysis/analysis.h"
#include "longshore/control.pb.h"

namespace longshore::reconcile {

// No I/O. Not thread-safe.
class EvidenceBook {
 public:
  // Adds the increase of the counts since the previous report of the node. Taking the same report again adds nothing.
  void Take(const std::string& fleet, const std::string& node, const std::string& incarnation,
            const control::Report& report);

  // Returns the counts of both versions since the last Use, by node. Nodes without counts are left out.
  analysis::Windows Windows(const std::string& fleet, const std::string& served_name, int64_t candidate,
                            int64_t stable) const;
  // Returns the sum of the counts of all nodes since this EvidenceBook was created, with the bins of this salt.
  api::ArmEvidence Past(const std::string& fleet, const std::string& served_name, int64_t version,
                        const std::string& salt) const;
  // Returns the requests and the errors of all versions since this EvidenceBook was created; the other counts are 0.
  api::ArmEvidence Total(const std::string& fleet, const std::string& served_name) const;

  // Marks the counts in `used` as used: later windows will not contain them.
  void Use(const std::string& fleet, const std::string& served_name, int64_t candidate, int64_t stable,
           const analysis::Windows& used);

  // Empties the windows of a model, and merges the counts of all removed nodes into one entry. Call it while no rollout
  // of the model is analysed, and when the analysis of one begins.
  void EmptyWindows(const std::string& fleet, const std::string& served_name);

  // Call it when the node has left the fleet. Its counts are kept, except for versions that no other node reports.
  void ForgetNode(const std::string& fleet, const std::string& node);

  // Number of entries, for tests of memory use.
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

  std::map<std::pair<std::string, std::string>, Incarnation> nodes_;  // Key: fleet and node.
  std::map<VersionKey, Sums> sums_;
};

// Returns `more` - `less`, with each count at least 0; the field difference_max is that of `more`. `less` must be an
// earlier state of the same counts.
api::ArmEvidence Difference(const api::ArmEvidence& more, const api::ArmEvidence& less);

}  // namespace longshore::reconcile
