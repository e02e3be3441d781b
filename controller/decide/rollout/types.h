// What a rollout observes and what it decides.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "controller/api/sentences.h"
#include "controller/api/types.h"
#include "controller/decide/analysis/analysis.h"

namespace longshore::rollout {

enum class NodeState {
  kAbsent,
  kRehearsal,
  kLoading,
  kWarming,
  kReady,
  kUnloading,
  kFailed,
  kQuarantined,
  kNotFound,
  kNoMemory  // It does not fit into the memory of the node now. The node loads it as soon as there is enough memory.
};

struct MemorySeen {
  int64_t needed_bytes = 0;
  int64_t free_bytes = 0;
  bool by_own_limit = false;  // `free_bytes` is rollout.shadow.memoryMax.
};

struct GoldenSeen {
  int64_t records = 0;
  int64_t passed = 0;
  double score = 0;
  bool ok = false;
  std::string message;
  // Only for repeated runs:
  TimePoint at{};         // When the run ended.
  std::string request{};  // The request that caused it (api::GoldenRequest::id); "": none.
};
struct GuardSeen {
  std::string reason;  // One of NonFinite, Errors, Crashed, ControllerSilent.
  std::string message;
};

// What one node reports about one version. Only reports about the state that the node was last sent count; for older
// reports the state is kAbsent, because otherwise a retry would fail on the messages of the previous attempt.
struct VersionSeen {
  NodeState state = NodeState::kAbsent;
  std::string message;  // The reason of a failure.
  std::string digest;
  std::optional<GoldenSeen> golden;        // In the rehearsal. If not `ok`, the version fails.
  std::optional<GoldenSeen> golden_again;  // The last repeated run while the version was stable: fails no version.
  std::optional<TimePoint> golden_due{};   // When the next repeated run is due; nullopt: the node does not repeat it.
  std::optional<GuardSeen> guard;          // Set if the guard tripped in this rollout.
  MemorySeen memory{};                     // For kNoMemory.
};

// What one node reports about the source that it was last sent. About a folder only kFailed is reported.
enum class SourceState { kFetching, kReady, kFailed };
struct SourceSeen {
  std::string sha256;  // "" for a folder.
  SourceState state = SourceState::kFetching;
  std::string message;  // Progress, or the reason of the failure.
  std::string uri{};    // The source that the node has scanned, if it is a folder; "": a node of an older release.
};

// What one node reports about the match rules of the model: they do not work there.
struct RulesSeen {
  // Whether the node cannot compile them and sends all requests to stable. If not, conditions on claims or clients
  // never hold there.
  bool refused = false;
  std::string message{};
};

// A node that can be given work: connected, or disconnected for less than the controller's grace time.
struct NodeSeen {
  std::string name;       // Unique in the fleet.
  bool draining = false;  // Gets no new work and is not counted.
  std::map<int64_t, VersionSeen> versions;
  std::optional<SourceSeen> source{};  // Set for an archive, and for a folder that cannot have versions.
  // Is to be stopped once other nodes have its versions: gets no new work and is not counted, as if it were draining,
  // but receives messages and keeps the versions that it has ready.
  bool departing = false;
  int64_t run_slots = 0;    // How many runs the node executes at the same time; 0: unknown.
  bool knows_rules = true;  // Whether its release applies match rules.
  std::optional<RulesSeen> rules{};
};

// Names of nodes, ordered, with their hashes (common/node_contract/homes.h).
struct NodeNames {
  std::vector<std::string> names;
  std::vector<uint64_t> hashes;
};
std::shared_ptr<const NodeNames> MakeNodeNames(std::vector<std::string> names);

struct Observed {
  // At least the nodes that report the model.
  std::vector<NodeSeen> nodes;
  // Whether nodes are left out of `nodes` because their newest report is about a deleted model of the same name.
  bool awaits_reports = false;
  // Why nodes do not route requests yet by what the status of before decided: "node a", " has not confirmed it". Empty
  // if all do, or if it does not matter (MustBeRouted).
  std::vector<api::Sentence> untold{};
  // All nodes of the fleet that are not draining, whether or not they report the model. Shared by all models, because
  // in a large fleet most nodes do not report a given model. nullptr stands for the nodes in `nodes`.
  std::shared_ptr<const NodeNames> fleet;
  api::ObservedFleet fleet_seen{};  // Its `nodes` may not all be connected yet.
  std::string no_fleet{};           // That the fleet does not exist; "": it does.
  std::string fleet_trouble{};      // Why the fleet needs help of a person, for example to start its nodes; "": no.
  // Why clients do not reach the fleet yet although nodes are ready; "": they do.
  std::string unreachable{};
  // The highest version that a node finds in the source. Used only if the spec names no version.
  std::optional<int64_t> latest_version;
  // The failed versions whose files differ now from those that failed, if the controller sees the files.
  std::set<int64_t> other_files{};
  // The counts of status.rollout's candidate and stable on each node since the evidence was last used (see
  // Decision::evidence_used).
  analysis::Windows windows;
  // All known counts of status.stable_version: the baseline when a rollout begins.
  api::ArmEvidence stable_past;
};

struct Event {
  bool warning = false;
  std::string reason;  // One CamelCase word: "RolloutStarted", "RolledBack", ...
  std::string message;
  double weight_percent = 0;  // Weight of the candidate at that time.
};

// The nodes of one version, and its share of the requests that name no version.
struct VersionPlacement {
  int64_t version = 0;
  int weight_bp = 0;  // Share of the requests in 1/10000.
  // Whether the version is the candidate. If not, it is stable if `weight_bp` > 0 or it is status.stable_version;
  // otherwise it is loaded only for a label or because it is warm.
  bool candidate = false;
  bool rehearse = false;
  std::vector<std::string> nodes{};  // Nodes that should hold it, ordered by name.
  // Nodes on which it is ready now, ordered by name. If there are none, the departing and draining nodes on which it is
  // ready: they are the last that can answer.
  std::vector<std::string> ready{};

  friend bool operator==(const VersionPlacement&, const VersionPlacement&) = default;
};

// The weights are the same on every node and add up to 10000, or are all 0 while there is nothing to serve.
struct Placement {
  std::vector<VersionPlacement> versions;  // Ordered by version.
  std::string salt;                        // Salt of the assignment of requests to versions.

  friend bool operator==(const Placement&, const Placement&) = default;
};

struct Decision {
  api::ModelStatus status;
  Placement placement;
  std::vector<Event> events;  // One per change of state.
  // Whether the candidate, or a version that an undo leaves, loses weight. If so, the nodes must be told before the
  // status is written; otherwise the status is written first.
  bool safety = false;
  // Whether Observed::windows are now part of `status.rollout.analysis`. If so, the next windows start after them, once
  // that status is stored or kept to be stored later. If not, the windows keep growing: evidence is used about once a
  // second, not in each reconciliation.
  bool evidence_used = false;
  // Whether the nodes must confirm that they route requests by this decision before the Model is as wanted.
  bool awaits_routing = false;
  // When to decide again even if nothing changes; nullopt: only after a change.
  std::optional<Duration> check_again_in;
};

// Time between two uses of the evidence.
inline constexpr Duration kEvidenceInterval = std::chrono::seconds(1);

}  // namespace longshore::rollout
