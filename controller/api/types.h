// The kinds of longshore.dev/v1alpha1 as values: what users write (spec) and what the controller answers (status).
//
// Parsing, defaults and validation are in parse.h; writing in format.h. Nothing here does I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/json/json.h"
#include "controller/api/pods.h"

namespace longshore::api {

inline constexpr const char* kApiVersion = "longshore.dev/v1alpha1";
inline constexpr const char* kModelKind = "Model";
inline constexpr const char* kServingFleetKind = "ServingFleet";

// Which object: the key of a reconcile.
struct Key {
  std::string kind;
  std::string namespace_;
  std::string name;

  auto operator<=>(const Key&) const = default;
};
// "Model vision/digits".
std::string ToString(const Key& key);

struct Metadata {
  std::string name;
  std::string namespace_ = "default";
  std::string uid;               // Given by the store at the first apply.
  int64_t generation = 0;        // Counts changes of the spec.
  std::string resource_version;  // Changes with every write; for compare-and-set.
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
};

struct Condition {
  std::string type;    // "Ready", "Progressing", "Stalled", ...
  std::string status;  // "True", "False" or "Unknown".
  std::string reason;  // One CamelCase word.
  std::string message;
  int64_t observed_generation = 0;
  TimePoint last_transition;

  friend bool operator==(const Condition&, const Condition&) = default;
};

// Adds the condition or replaces the one of its type. While the status stays the same, so does the time of its
// transition.
void SetCondition(std::vector<Condition>& conditions, Condition next);

// ---------------------------------------------------------------------------------------------------- Model

struct Step {
  double weight_percent = 0;
  std::optional<Duration> hold;  // Least time at this weight; default: Rollout::hold.
  bool manual_pause = false;     // `pause: Manual`: waits for promote.
};

struct AnalysisErrorRate {
  bool enabled = true;
};
struct AnalysisLatency {
  bool enabled = true;
  double tolerance = 0.10;  // Slower by less than this share is no regression.
};
struct AnalysisDrift {
  std::optional<double> max;  // Without it drift is reported only.
};

enum class Strategy { kCanary, kImmediate };
enum class AssignmentBy { kRequest, kHeader, kCookie };
enum class OnFailure { kRollback, kPause };

struct Rollout {
  Strategy strategy = Strategy::kCanary;
  AssignmentBy assignment_by = AssignmentBy::kRequest;
  std::string assignment_key;
  std::vector<Step> steps = {{5, {}, false}, {25, {}, false}, {50, {}, false}};
  Duration hold = std::chrono::seconds(30);
  int64_t requests_min = 100;  // Candidate requests a step needs before it can pass.
  AnalysisErrorRate error_rate;
  AnalysisLatency latency;
  AnalysisDrift drift;
  OnFailure on_failure = OnFailure::kRollback;
  Duration progress_deadline = std::chrono::minutes(10);  // For loading and becoming ready.
  bool paused = false;
};

struct Validation {
  std::string golden_set;       // Path below the source.
  std::string metric = "top1";  // "top1" or "tolerance".
  double minimum = 0.95;
  double relative_tolerance = 1e-3;
  bool non_finite_reject = true;
  bool deterministic = false;
};

struct Batching {
  int max_batch_size = 1;
  Duration max_delay = std::chrono::milliseconds(1);
  int max_queue = 1000;
  std::vector<int> allowed_batch_sizes;
};

struct Slo {
  double latency_quantile = 0.99;
  std::optional<Duration> latency_target;
  std::optional<double> error_rate;  // Share, 0..1.
};

// Where versions come from, as ModelSpec has it.
struct Source {
  std::string uri;
  std::string sha256;

  friend bool operator==(const Source&, const Source&) = default;
};

struct ModelSpec {
  std::string fleet;               // "name" or "namespace/name".
  std::string served_name;         // Default: metadata.name.
  std::string source_uri;          // "file:///models/digits" or "https://host/digits.tar"
  std::string source_sha256;       // Of the archive of an https:// source; otherwise "".
  std::optional<int64_t> version;  // Absent: the latest that a node finds.
  std::map<std::string, int64_t> version_labels;
  Slo slo;
  Batching batching;
  bool warm_up = true;
  Validation validation;
  Rollout rollout;
  std::optional<int> replicas;  // Nodes that hold the stable version; absent: all.
};

// A command of a person, written compare-and-set into the status; the controller takes it once.
struct Command {
  std::string verb;        // "promote", "abort", "pause", "resume", "retry".
  int64_t generation = 0;  // What the person saw; a command for something older is refused.
  int step = 0;

  friend bool operator==(const Command&, const Command&) = default;
};

// Paired replays of sampled inputs on candidate and stable; only the candidate's side counts them.
struct DriftEvidence {
  int64_t pairs = 0;
  double difference_sum = 0;  // Of max|a-b| / max(1, max|b|) per pair.
  double difference_max = 0;
  int64_t top1_changed = 0;

  friend bool operator==(const DriftEvidence&, const DriftEvidence&) = default;
};

// Cumulative counts that survive node restarts: sums over incarnations, as the controller saw them.
struct ArmEvidence {
  int64_t requests = 0;
  int64_t errors = 0;
  int64_t non_finite = 0;
  std::vector<int64_t> run_time_buckets;  // As control.proto's Evidence.
  DriftEvidence drift;

  friend bool operator==(const ArmEvidence&, const ArmEvidence&) = default;
};

struct Verdict {
  std::string result;   // "Pass", "Fail" or "Undecided".
  std::string reason;   // "ErrorRate", "Latency", "NonFinite", "GoldenSet", "TooFewRequests", ...
  std::string message;  // With the numbers, for people.
  std::map<std::string, double> numbers;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

enum class RolloutPhase { kNone, kValidating, kLoading, kStep, kPaused, kPromoting, kCompleted, kRolledBack };
std::string_view RolloutPhaseName(RolloutPhase phase);
// kNone for a name that is none.
RolloutPhase RolloutPhaseOf(std::string_view name);
// Whether a rollout in this phase still has something to decide.
bool IsUnderWay(RolloutPhase phase);

// What of a rollout must survive a restart of the controller.
struct RolloutStatus {
  std::string id;  // Salt of the assignment: "<uid>/<candidate>/<attempt>".
  RolloutPhase phase = RolloutPhase::kNone;
  int64_t stable = 0;  // 0: none yet.
  int64_t candidate = 0;
  int attempt = 0;
  int step_index = 0;
  double weight_percent = 0;
  std::string paused_reason;
  TimePoint started_at;
  TimePoint step_started_at;
  int64_t step_candidate_requests = 0;  // Of the candidate when the step began.
  bool paused_by_command = false;
  bool promoted_by_command = false;  // A person ended the last step, whatever its verdict.
  TimePoint evidence_used_at;        // When a window last went into `analysis`.
  TimePoint held_since;              // When the verdict became LatencyBaseline; the epoch while it is another.
  // State of the sequential tests: log e-values, windows closed so far, totals, baseline of stable. Opaque to all but
  // analysis/.
  Json analysis;
  Verdict verdict;

  friend bool operator==(const RolloutStatus&, const RolloutStatus&) = default;
};

// A version that failed is not tried again until its digest or the generation changes, or a person says retry.
struct FailedVersion {
  int64_t version = 0;
  std::string digest;
  int64_t generation = 0;
  std::string reason;
  std::string message;
  TimePoint at;

  friend bool operator==(const FailedVersion&, const FailedVersion&) = default;
};

struct HistoryEntry {
  TimePoint at;
  int64_t version = 0;
  std::string what;  // "Promoted", "RolledBack", "Started", "Step", ...
  std::string message;

  friend bool operator==(const HistoryEntry&, const HistoryEntry&) = default;
};

struct NodeStatus {
  std::string node;
  std::string state;  // Per version, for people: "1:Ready 2:Loading".

  friend bool operator==(const NodeStatus&, const NodeStatus&) = default;
};

struct ModelStatus {
  int64_t epoch = 0;
  int64_t observed_generation = 0;
  std::vector<Condition> conditions;
  int64_t stable_version = 0;
  RolloutStatus rollout;
  std::vector<FailedVersion> failed;       // At most kFailedMax, the newest last.
  std::vector<HistoryEntry> history;       // At most kHistoryMax, the newest last.
  std::map<int64_t, std::string> digests;  // Pinned per version.
  std::map<int64_t, Source> sources;       // What the spec said when the version's rollout began.
  std::optional<Command> command;          // Waiting to be taken.
  std::string command_result;              // What became of the last one.
  std::vector<NodeStatus> nodes;

  friend bool operator==(const ModelStatus&, const ModelStatus&) = default;
};
inline constexpr size_t kNodesMax = 100;  // Told of one by one in a status.
inline constexpr size_t kFailedMax = 20;
inline constexpr size_t kHistoryMax = 50;

struct Model {
  Metadata metadata;
  ModelSpec spec;
  ModelStatus status;
};

// "namespace/name" of the fleet that serves the model.
std::string FleetOf(const Metadata& model, const ModelSpec& spec);

// Of the fleet "namespace/name".
Key FleetKey(const std::string& fleet);

// ---------------------------------------------------------------------------------------------------- ServingFleet

struct Autoscaling {
  Duration queue_delay_target = std::chrono::milliseconds(10);
  double utilization_target = 0.7;  // Busy share of the run slots.
  std::string prometheus_url;       // Empty: the nodes' own reports.
  Duration metrics_age_max = std::chrono::seconds(15);
  Duration scale_down_stabilization = std::chrono::minutes(5);
  Duration scale_up_cooldown = std::chrono::seconds(3);
};

// Whose Models a fleet serves beside those of its own namespace.
struct AllowedNamespaces {
  bool all = false;
  std::vector<std::string> names;
};

// nullopt: no limit.
struct Quotas {
  std::optional<int> models_max;
  std::optional<int> models_per_namespace_max;
};

struct ServingFleetSpec {
  int replicas_min = 1;
  int replicas_max = 1;
  int grpc_port = 8500;  // 0: any free port, told in the status.
  int rest_port = 8501;
  int concurrent_runs_max = 0;  // 0: the processors of the node.
  Duration connection_age_max = std::chrono::seconds(30);
  Duration simulated_run{0};               // For test fleets: see control.proto.
  std::optional<Autoscaling> autoscaling;  // Without it: replicas_min nodes.
  AllowedNamespaces allowed_namespaces;
  Quotas quotas;
  Pods pods;
};

struct AutoscaleStatus {
  int desired = 0;
  std::string reason;  // "QueueDelay", "Utilization", "Latency", "Idle", "NoEvidence", ...
  std::string message;
  double value = 0;
  double target = 0;
  TimePoint evidence_at;  // Time of the newest sample used.
  TimePoint last_scale_up;
  // The highest desired count per recent moment, for the stabilisation window.
  std::vector<std::pair<TimePoint, int>> recommendations;

  friend bool operator==(const AutoscaleStatus&, const AutoscaleStatus&) = default;
};

struct FleetNodeStatus {
  std::string name;
  int64_t pid = 0;
  std::string state;  // "Starting", "Ready", "Draining".
  std::string admin_address;

  friend bool operator==(const FleetNodeStatus&, const FleetNodeStatus&) = default;
};

struct ServingFleetStatus {
  int64_t epoch = 0;
  int64_t observed_generation = 0;
  std::vector<Condition> conditions;
  int replicas = 0;
  int ready_replicas = 0;
  std::string selector;  // Of the nodes' pods; "" on a host.
  std::string image;     // Of the nodes' pods; "" on a host.
  std::string grpc_address;
  std::string rest_address;
  AutoscaleStatus autoscale;
  std::vector<FleetNodeStatus> nodes;

  friend bool operator==(const ServingFleetStatus&, const ServingFleetStatus&) = default;
};

struct ServingFleet {
  Metadata metadata;
  ServingFleetSpec spec;
  ServingFleetStatus status;
};

// Whether the fleet serves Models of this namespace.
bool Allows(const ServingFleet& fleet, const std::string& namespace_);

}  // namespace longshore::api
