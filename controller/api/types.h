// The kinds of longshore.dev/v1alpha1 as values: spec (written by users) and status (written by the controller).
//
// parse.h parses, sets defaults and validates; format.h writes. No I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/json/json.h"
#include "controller/api/pods.h"

namespace longshore::api {

inline constexpr const char* kApiVersion = "longshore.dev/v1alpha1";
inline constexpr const char* kModelKind = "Model";
inline constexpr const char* kServingFleetKind = "ServingFleet";

// Identifies an object: the key of a reconciliation.
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
  std::string uid;               // Set by the store at the first apply.
  int64_t generation = 0;        // Number of changes of the spec.
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

// The maxLength in the CRDs; an API server refuses a whole status if one message is longer.
inline constexpr size_t kConditionMessageBytesMax = 32768;

// Adds the condition or replaces the one with its type. The transition time changes only if the status changes. Cuts a
// message above kConditionMessageBytesMax and replaces bytes that are not valid UTF-8.
void SetCondition(std::vector<Condition>& conditions, Condition next);

// ---------------------------------------------------------------------------------------------------- Model

struct Step {
  double weight_percent = 0;
  std::optional<Duration> hold;  // Minimum duration of this step; default: Rollout::hold.
  bool manual_pause = false;     // `pause: Manual`: the step waits for the command promote.
};

struct AnalysisErrorRate {
  bool enabled = true;
};
struct AnalysisLatency {
  bool enabled = true;
  double tolerance = 0.10;  // A smaller relative slowdown is not a regression.
};
struct AnalysisDrift {
  std::optional<double> max;  // nullopt: no limit; drift is only reported.
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
  int64_t requests_min = 100;  // Minimum number of candidate requests before a step can pass.
  AnalysisErrorRate error_rate;
  AnalysisLatency latency;
  AnalysisDrift drift;
  OnFailure on_failure = OnFailure::kRollback;
  Duration progress_deadline = std::chrono::minutes(10);  // Time limit for loading and becoming ready.
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

// The source of versions, as in ModelSpec.
struct Source {
  std::string uri;
  std::string sha256;

  friend bool operator==(const Source&, const Source&) = default;
};

struct ModelSpec {
  std::string fleet;               // "name" or "namespace/name".
  std::string served_name;         // Default: metadata.name.
  std::string source_uri;          // "file:///models/digits" or "https://host/digits.tar"
  std::string source_sha256;       // Checksum of the archive of an https:// source; otherwise "".
  std::optional<int64_t> version;  // nullopt: the newest version that a node finds.
  std::map<std::string, int64_t> version_labels;
  Slo slo;
  Batching batching;
  bool warm_up = true;
  Validation validation;
  Rollout rollout;
  std::optional<int> replicas;  // Number of nodes that load the stable version; nullopt: all.
};

// A command of a user, written to the status with compare-and-set; the controller executes it once.
struct Command {
  std::string verb;        // "promote", "abort", "pause", "resume", "retry".
  int64_t generation = 0;  // The generation that the user saw; a command for an older one is refused.
  int step = 0;

  friend bool operator==(const Command&, const Command&) = default;
};

// Results of sampled inputs that were run on candidate and stable. Counted for the candidate only.
struct DriftEvidence {
  int64_t pairs = 0;
  double difference_sum = 0;  // Sum of max|a-b| / max(1, max|b|) over the pairs.
  double difference_max = 0;
  int64_t top1_changed = 0;

  friend bool operator==(const DriftEvidence&, const DriftEvidence&) = default;
};

// Cumulative counts that survive restarts of nodes: sums over the incarnations that the controller observed.
struct ArmEvidence {
  int64_t requests = 0;
  int64_t errors = 0;
  int64_t non_finite = 0;
  std::vector<int64_t> run_time_buckets;  // Buckets as in Evidence of control.proto.
  DriftEvidence drift;

  friend bool operator==(const ArmEvidence&, const ArmEvidence&) = default;
};

struct Verdict {
  std::string result;   // "Pass", "Fail" or "Undecided".
  std::string reason;   // "ErrorRate", "Latency", "NonFinite", "GoldenSet", "TooFewRequests", ...
  std::string message;  // For users, with the numbers.
  std::map<std::string, double> numbers;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

enum class RolloutPhase { kNone, kValidating, kLoading, kStep, kPaused, kPromoting, kCompleted, kRolledBack };
std::string_view RolloutPhaseName(RolloutPhase phase);
// kNone if the name is unknown.
RolloutPhase RolloutPhaseOf(std::string_view name);
// Whether a rollout in this phase is not finished.
bool IsUnderWay(RolloutPhase phase);

// The state of a rollout that must survive a restart of the controller.
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
  int64_t step_candidate_requests = 0;  // Total requests of the candidate when the step began.
  bool paused_by_command = false;
  bool promoted_by_command = false;  // A user ended the last step, whatever its verdict was.
  TimePoint evidence_used_at;        // When windows were last added to `analysis`.
  TimePoint held_since;              // When the verdict became LatencyBaseline; TimePoint{} for any other verdict.
  // State of the sequential tests: log e-values, windows closed so far, totals, baseline of stable. Only analysis/ may
  // interpret it.
  Json analysis;
  Verdict verdict;

  friend bool operator==(const RolloutStatus&, const RolloutStatus&) = default;
};

// A failed version is not tried again until its digest or the generation changes, or a user commands retry.
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
  std::string state;  // State per version, for users: "1:Ready 2:Loading".

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
  std::map<int64_t, std::string> digests;  // Digest of each version's files, which all nodes must match.
  std::map<int64_t, Source> sources;       // The source in the spec when the rollout of the version began.
  std::optional<Command> command;          // Not executed yet.
  std::string command_result;              // Result of the last command.
  std::vector<NodeStatus> nodes;

  friend bool operator==(const ModelStatus&, const ModelStatus&) = default;
};
inline constexpr size_t kNodesMax = 100;  // Maximum number of nodes listed in a status.
inline constexpr size_t kFailedMax = 20;
inline constexpr size_t kHistoryMax = 50;

struct Model {
  Metadata metadata;
  ModelSpec spec;
  ModelStatus status;
};

// "namespace/name" of the fleet that serves the model.
std::string FleetOf(const Metadata& model, const ModelSpec& spec);

// The key of the fleet "namespace/name".
Key FleetKey(const std::string& fleet);

// ---------------------------------------------------------------------------------------------------- ServingFleet

struct Autoscaling {
  Duration queue_delay_target = std::chrono::milliseconds(10);
  double utilization_target = 0.7;  // Target of the share of run slots that are busy.
  std::string prometheus_url;       // Empty: use the reports of the nodes.
  Duration metrics_age_max = std::chrono::seconds(15);
  Duration scale_down_stabilization = std::chrono::minutes(5);
  Duration scale_up_cooldown = std::chrono::seconds(3);
};

// Namespaces whose Models a fleet serves in addition to its own.
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
  int grpc_port = 8500;  // 0: any free port, which the status reports.
  int rest_port = 8501;
  int concurrent_runs_max = 0;  // 0: the number of processors of the node.
  Duration connection_age_max = std::chrono::seconds(30);
  Duration simulated_run{0};               // Only for test fleets; see control.proto.
  std::optional<Autoscaling> autoscaling;  // nullopt: always replicas_min nodes.
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
  // At most one entry: since when fewer nodes than now are enough, and the largest number that was needed since then.
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
  std::string selector;  // Label selector of the pods; "" in standalone mode.
  std::string image;     // Image of the pods; "" in standalone mode.
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
