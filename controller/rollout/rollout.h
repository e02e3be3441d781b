// How a model gets from the version that serves to the version that is wanted.
//
//   None ──► Validating ──► Loading ──► Step 0 ──► … ──► Promoting ──► Completed
//             │ trial and     │ on the    │ weight, hold,   │ on all      the old one stays loaded for a soak
//             │ golden set    │ first     │ evidence,       │ nodes
//             │ on one node   │ node(s)   │ manual pause    │
//             └───────────────┴───────────┴──► RolledBack ◄─┘   final until the spec changes or a person says retry
//
// Pure: the same input always gives the same decision. What must survive a restart is in ModelStatus.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/analysis/analysis.h"
#include "controller/api/types.h"

namespace longshore::rollout {

enum class NodeState { kAbsent, kTrial, kLoading, kWarming, kReady, kUnloading, kFailed, kQuarantined, kNotFound };

struct GoldenSeen {
  int64_t records = 0;
  int64_t passed = 0;
  double score = 0;
  bool ok = false;
  std::string message;
};
struct GuardSeen {
  std::string reason;  // NonFinite, Errors, Crashed, ControllerSilent.
  std::string message;
};

// What one node says about one version, in a report about the state that it was last sent: what it said about an
// earlier one is left out (kAbsent), or a retry would fail by the last attempt's words.
struct VersionSeen {
  NodeState state = NodeState::kAbsent;
  std::string message;  // Why, when it failed.
  std::string digest;
  std::optional<GoldenSeen> golden;
  std::optional<GuardSeen> guard;  // Present when it tripped in this rollout.
};

// What one node says of the archive that it was told of last.
enum class SourceState { kFetching, kReady, kFailed };
struct SourceSeen {
  std::string sha256;
  SourceState state = SourceState::kFetching;
  std::string message;  // How far it is, or why it failed.
};

// A node that can be given work: attached, or lost for less time than the shell's patience.
struct NodeSeen {
  std::string name;       // Unique in the fleet.
  bool draining = false;  // Gets no new work and does not count.
  std::map<int64_t, VersionSeen> versions;
  std::optional<SourceSeen> source{};  // Of a model that comes from an archive.
};

// Names of nodes, ordered, with their hashes (common/fleet/homes.h).
struct NodeNames {
  std::vector<std::string> names;
  std::vector<uint64_t> hashes;
};
std::shared_ptr<const NodeNames> MakeNodeNames(std::vector<std::string> names);

struct Observed {
  // Those that say something of the model, and any others.
  std::vector<NodeSeen> nodes;
  // All nodes of the fleet that do not drain, whether they say anything or not: in a large fleet most do not, and all
  // models share this. Null: those of `nodes`.
  std::shared_ptr<const NodeNames> fleet;
  // The highest version a node finds under the source. Only used when the spec names no version.
  std::optional<int64_t> latest_version;
  // What status.rollout's candidate and stable did on each node since the evidence was last used (see
  // Decision::evidence_used).
  analysis::Windows windows;
  // All that is known of status.stable_version's past; the baseline when a rollout begins.
  api::ArmEvidence stable_past;
};

struct Event {
  bool warning = false;
  std::string reason;  // One CamelCase word: "RolloutStarted", "RolledBack", ...
  std::string message;
  double weight_percent = 0;  // Of the candidate then.
};

// Where one version should be, and its share of the requests that name no version.
struct VersionPlacement {
  int64_t version = 0;
  int weight_bp = 0;       // Of 10000.
  bool candidate = false;  // Otherwise stable when weight_bp > 0 or it is status.stable_version, else extra.
  bool trial = false;
  std::vector<std::string> nodes{};  // That should hold it, ordered by name.
  std::vector<std::string> ready{};  // That have it ready now, ordered by name.

  friend bool operator==(const VersionPlacement&, const VersionPlacement&) = default;
};

// The weights are the same on every node and add up to 10000, or are all 0 while there is nothing to serve.
struct Placement {
  std::vector<VersionPlacement> versions;  // Ordered by version.
  std::string salt;                        // Of the assignment.

  friend bool operator==(const Placement&, const Placement&) = default;
};

struct Decision {
  api::ModelStatus status;
  Placement placement;
  std::vector<Event> events;  // One per change of state.
  // The candidate loses weight: nodes must hear it before it is written down. Otherwise the status is written first.
  bool safety = false;
  // Observed::windows are now part of status.rollout.analysis: once that status is stored, or kept to be stored later,
  // the next windows begin after it. While false the windows keep growing; so it is about once a second, not at every
  // look.
  bool evidence_used = false;
  // When to look again even if nothing is heard; absent: only when something changes.
  std::optional<Duration> check_again_in;
};

// Decides the next move: as far as what was observed allows, but never past a change of weight; what comes after it
// depends on how nodes and users take it. Call it again after applying.
// `model.metadata` gives uid and generation, `model.status` what was decided before.
Decision Decide(const api::Model& model, const Observed& observed, TimePoint now);

// Why Decide begins no rollout; "": one begins, or is under way.
std::string WhyNoRollout(const api::Model& model, const Observed& observed, TimePoint now);

// Where things should be by the status as it is, without any move: while a decision cannot be written down.
Placement PlacementNow(const api::Model& model, const Observed& observed, TimePoint now);

// Whether nothing has changed between two statuses but the evidence and the words of a verdict that is as it was.
bool OnlyEvidenceIsNew(const api::ModelStatus& before, const api::ModelStatus& after);

// Time between two uses of the evidence.
inline constexpr Duration kEvidenceInterval = std::chrono::seconds(1);

}  // namespace longshore::rollout
