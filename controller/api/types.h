// The kinds Model and ServingFleet of longshore.dev/v1alpha1 as C++ types: spec (written by users) and status (written
// by the controller).
//
// parse.h parses them, sets defaults and validates; format.h writes them. No function here does I/O.
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
#include "controller/api/evidence.h"
#include "controller/api/golden_set.h"
#include "controller/api/match_rules.h"
#include "controller/api/pods.h"

namespace longshore::api {

inline constexpr const char* kApiVersion = "longshore.dev/v1alpha1";
inline constexpr const char* kModelKind = "Model";
inline constexpr const char* kServingFleetKind = "ServingFleet";

// Identifies an object. Objects are queued for reconciliation by their keys.
struct Key {
  std::string kind;
  std::string namespace_;
  std::string name;

  auto operator<=>(const Key&) const = default;
};
// Returns the kind, the namespace and the name: "Model vision/digits".
std::string ToString(const Key& key);

struct Metadata {
  std::string name;
  std::string namespace_ = "default";
  std::string uid;               // Set by the store at the first apply.
  int64_t generation = 0;        // Number of changes of the spec.
  std::string resource_version;  // Changes with every write; used for compare-and-set.
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

// The maxLength of Condition::message in the CRDs. An API server rejects the whole status if one message is longer.
inline constexpr size_t kConditionMessageBytesMax = 32768;

// Adds the condition, or replaces the one of the same type. Condition::last_transition changes only if
// Condition::status changes. A message above kConditionMessageBytesMax is cut, and bytes that are not valid UTF-8 are
// replaced.
void SetCondition(std::vector<Condition>& conditions, Condition next);

// ---------------------------------------------------------------------------------------------------- Model

// What a step requires before the rollout goes on. A failed test ends the rollout in any case.
enum class Proof {
  kRequired,  // The evidence excludes that the candidate is worse than stable by more than the tolerances.
  kSampled,   // The candidate has answered at least Rollout::requests_min requests in the step.
  kNone,      // Only the time of the step is over.
};

std::string_view ProofName(Proof proof);

struct Step {
  double weight_percent = 0;
  std::optional<Duration> hold{};  // Minimum duration of this step; default: Rollout::hold.
  bool manual_pause = false;       // `pause: Manual`: the step waits for the command `promote`.
  std::optional<Proof> proof{};    // Default: see ProofOf.
};

// The candidate's error rate may exceed stable's by `tolerance` (a share of the requests) or by `relative_tolerance`
// times stable's, whichever is more.
struct AnalysisErrorRate {
  bool enabled = true;
  double tolerance = 0.005;
  double relative_tolerance = 0.5;

  friend bool operator==(const AnalysisErrorRate&, const AnalysisErrorRate&) = default;
};
struct AnalysisLatency {
  bool enabled = true;
  double tolerance = 0.10;  // A smaller relative slowdown is not a regression.
};
struct AnalysisDrift {
  std::optional<double> max;  // nullopt: no limit; drift is only reported.
};
// Inputs that a node runs on both versions, to compare their answers and run times.
struct AnalysisPairs {
  double share = 0.25;   // The share of the requests that become pairs.
  double budget = 0.10;  // Maximum share of a node's run slots that these runs may occupy.
};

enum class Measure { kTop1, kTopK, kCosine, kWithin, kEqual };

// When the rows of an output of the candidate agree with stable's; see OutputRule of control.proto.
struct OutputRule {
  std::string output;  // Its name in the signature.
  Measure measure = Measure::kTop1;
  double rows = 0.99;                // The share of the rows that must agree.
  int k = 0;                         // TopK.
  double overlap = 0.8;              // TopK: the share of the k columns that must be the same.
  double similarity = 0.999;         // Cosine.
  double relative = 1e-3;            // Within.
  double absolute = 1e-5;            // Within.
  bool collapse_whitespace = false;  // Equal.
};

// A phase before the candidate gets any weight, in which pairs of it and stable are compared
// (docs/decisions/0015-judged-without-weight.md).
struct Shadow {
  double share = 0.1;                        // The share of stable's requests that become pairs.
  double budget = 0.1;                       // Maximum share of a node's run slots that these runs may occupy.
  Duration hold = std::chrono::minutes(10);  // Minimum duration of the phase: `for` in the manifest.
  std::optional<Proof> proof{};              // Default: see ProofOfShadow. A sample is Rollout::requests_min pairs.
  int keep_worst = 0;                        // How many pairs with different outputs nodes keep.
  std::string memory_max{};                  // The memory that the candidate may need on a node: "512Mi"; "": any.
  std::vector<OutputRule> compare{};         // Used by all pairs, also by those in later steps.
};

// How people can try the candidate of a rollout with Strategy::kBlueGreen before it is promoted.
struct Preview {
  std::string header = "x-longshore-preview";  // In lower case. Requests with this header go to the candidate.
  std::optional<Duration> auto_promote{};      // nullopt: a person promotes.
};

// The label and the route of the candidate in the phase Preview.
inline constexpr const char* kPreviewName = "preview";

enum class Strategy { kCanary, kImmediate, kShadow, kBlueGreen };
std::string_view StrategyName(Strategy strategy);
enum class AssignmentBy { kRequest, kHeader, kCookie };
enum class OnFailure { kRollback, kPause };
enum class OnInconclusive { kPause, kPromote, kRollback };

// How many of the nodes that should hold a version may be without it: a number, or a share of them rounded down.
struct MaxUnavailable {
  int value = 10;
  bool is_percent = true;

  // Returns the number for a Model that `nodes` nodes should hold.
  int Of(int nodes) const { return is_percent ? static_cast<int>(int64_t{nodes} * value / 100) : value; }

  friend bool operator==(const MaxUnavailable&, const MaxUnavailable&) = default;
};
inline constexpr int kMaxUnavailableNodesMax = 100000;

struct Rollout {
  Strategy strategy = Strategy::kCanary;
  std::optional<Shadow> shadow{};  // Always set with Strategy::kShadow.
  Preview preview;
  AssignmentBy assignment_by = AssignmentBy::kRequest;
  std::string assignment_key;
  std::vector<Step> steps = {{.weight_percent = 5}, {.weight_percent = 25}, {.weight_percent = 50}};
  Duration hold = std::chrono::seconds(30);
  int64_t requests_min = 100;  // Minimum number of candidate requests before a step can pass.
  AnalysisErrorRate error_rate;
  AnalysisLatency latency;
  AnalysisDrift drift;
  AnalysisPairs pairs;
  Duration patience = std::chrono::hours(24);  // Time after which a step without a proof is inconclusive.
  OnInconclusive on_inconclusive = OnInconclusive::kPause;
  OnFailure on_failure = OnFailure::kRollback;
  Duration progress_deadline = std::chrono::minutes(10);  // Time limit for a version to load and become ready.
  MaxUnavailable max_unavailable;
  // Time without a controller after which a node gives the candidate's requests to stable; 0: never.
  Duration controller_silence_max = std::chrono::minutes(10);
  bool paused = false;
  std::vector<Route> routes;                      // Match rules; the first one that matches decides.
  Duration keep_warm = std::chrono::minutes(10);  // How long a version stays loaded after it has lost its requests.
};

// Whether evidence can show that the candidate is not worse by more than the tolerances: no amount of evidence can if a
// tolerance is 0, or if all rows of an output must agree.
bool IsProvable(const Rollout& rollout);
// What the phase Shadow or Preview requires; kNone without `shadow`. Without a value in the spec, strategies without
// steps require a proof if the rollout is provable, and Canary requires a sample.
Proof ProofOfShadow(const Rollout& rollout);
// What the step with this index requires. Without a value in the spec, the last step requires a proof if the rollout is
// provable, and every other step requires a sample. Requires: 0 <= step_index < rollout.steps.size().
Proof ProofOf(const Rollout& rollout, size_t step_index);

struct Validation {
  std::string golden_set;       // Path relative to the source.
  std::string metric = "top1";  // "top1" or "tolerance".
  double minimum = 0.95;
  double relative_tolerance = 1e-3;
  Duration golden_every{0};  // How often the golden set of the stable version runs again; 0: never.
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
  std::optional<double> error_rate;  // A share from 0 to 1.
};

// Where versions come from: the fields source_uri and source_sha256 of a ModelSpec.
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

// A command of a user, written to the status with compare-and-set; the controller executes it once. Says what the user
// saw, so that a command for one rollout is not executed on another one.
struct Command {
  std::string verb;        // "promote", "abort", "pause", "resume", "retry", "undo", "validate".
  int64_t generation = 0;  // The generation that the user saw; the controller rejects a command for an older one.
  int step = 0;
  // ModelStatus::command does not have the following fields.
  std::string id{};  // Chosen by the user; a second command with the same id is ignored.
  TimePoint at{};    // When the command was given, by the clock of the user.
  int attempt = 0;   // RolloutStatus::attempt; 0: not compared.
  int64_t from = 0;  // For undo: the version to leave, which is a candidate or serves; 0: not compared.
  int64_t to = 0;    // For undo: the version to return to; 0: the version that served before.
  std::string by{};  // The name of the person, from the program that wrote the command; "": not known.

  friend bool operator==(const Command&, const Command&) = default;
};

enum class CommandResult { kDone, kRefused, kSuperseded };
std::string_view CommandResultName(CommandResult result);

// The controller's answer to one command.
struct CommandAnswer {
  std::string id;
  std::string verb;
  CommandResult result = CommandResult::kDone;
  std::string message;  // For users; "" if there is nothing to add to the result.
  TimePoint at;

  friend bool operator==(const CommandAnswer&, const CommandAnswer&) = default;
};
// Returns the answer as one line: "promote: refused: no rollout is under way".
std::string ToString(const CommandAnswer& answer);

struct Verdict {
  std::string result;   // "Pass", "Fail", "Undecided" or "Inconclusive".
  std::string reason;   // "ErrorRate", "Latency", "NonFinite", "GoldenSet", "TooFewRequests", "NotProven", ...
  std::string message;  // For users; contains the numbers.
  std::map<std::string, double> numbers;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

enum class RolloutPhase {
  kNone,
  kValidating,
  kLoading,
  kShadow,
  kPreview,
  kStep,
  kPaused,
  kPromoting,
  kCompleted,
  kRolledBack
};
std::string_view RolloutPhaseName(RolloutPhase phase);
// Returns kNone if the name is unknown.
RolloutPhase RolloutPhaseOf(std::string_view name);
// Whether a rollout in this phase is not finished.
bool IsUnderWay(RolloutPhase phase);
// Whether the candidate is loaded in this phase but has no weight: it answers only pairs and previews.
bool IsWithoutWeight(RolloutPhase phase);

// The state of a rollout that must survive a restart of the controller.
struct RolloutStatus {
  std::string id;  // Salt for the assignment of requests: "<uid>/<candidate>/<attempt>".
  RolloutPhase phase = RolloutPhase::kNone;
  int64_t stable = 0;  // 0: no version yet.
  int64_t candidate = 0;
  int attempt = 0;
  int step_index = 0;
  double weight_percent = 0;
  std::string paused_reason;
  TimePoint started_at;
  TimePoint step_started_at;
  int64_t step_candidate_requests =
      0;                     // Total requests of the candidate when the step began; in a phase without weight, pairs.
  bool shadow_done = false;  // The phase without weight has shown what it must, or a person has ended it.
  bool paused_by_command = false;
  bool promoted_by_command = false;  // A user ended the last step with `promote`.
  TimePoint evidence_used_at;        // When evidence was last added to `analysis`.
  TimePoint held_since;              // When the verdict's reason became LatencyBaseline; TimePoint{} for any other.
  int64_t undo_generation = 0;       // The generation for which `undo` began this rollout; 0: `undo` did not begin it.
  // State of the sequential tests: log e-values, windows closed so far, totals, latency baseline of the stable version.
  // Only the code in analysis/ may interpret it.
  Json analysis;
  Verdict verdict;

  friend bool operator==(const RolloutStatus&, const RolloutStatus&) = default;
};

// A failed version is not tried again until the generation or, if the controller sees them, its files change, or a user
// gives the command `retry`.
struct FailedVersion {
  int64_t version = 0;
  std::string digest;  // Of the files that failed; "" if the nodes have reported none.
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

// What all versions of a Model have done, on average over the last `over`, which is at most a day
// (controller/decide/traffic).
struct Traffic {
  TimePoint at{};    // The end of that time.
  Duration over{0};  // 0: no request has been counted yet.
  double requests_per_second = 0;
  double error_rate = 0;  // The share of the requests that failed because of the server.

  friend bool operator==(const Traffic&, const Traffic&) = default;
};

// The fleet of a Model as it was when the status of the Model was computed. It tells whether the status knows the
// newest change of the fleet.
struct ObservedFleet {
  std::string uid;  // "": the fleet did not exist, could not be read, or the status is from release 0.1.
  int64_t generation = 0;
  int nodes = 0;  // The number of nodes that the fleet should have.

  friend bool operator==(const ObservedFleet&, const ObservedFleet&) = default;
};

struct ModelStatus {
  int64_t epoch = 0;
  int64_t observed_generation = 0;
  ObservedFleet observed_fleet;
  std::vector<Condition> conditions;
  int64_t stable_version = 0;
  RolloutStatus rollout;
  std::vector<FailedVersion> failed;       // At most kFailedMax, the newest last.
  std::vector<HistoryEntry> history;       // At most kHistoryMax, the newest last.
  std::map<int64_t, std::string> digests;  // Key: version. Value: the digest that its files must have on all nodes.
  std::map<int64_t, Source> sources;       // Key: version. Value: the source in the spec when its rollout began.
  std::optional<Command> command;          // A command of a client of release 0.1 that is not executed yet.
  std::string command_result;              // Result of the last such command.
  std::vector<Command> commands;           // The commands that are not executed yet, in the order of their arrival.
  std::vector<CommandAnswer> answers;      // To `commands`; at most kAnswersMax, the newest last.
  // The commands that the controller would execute now, and no others, if a user who sees this status gave them.
  std::vector<std::string> accepted_commands;
  Traffic traffic;
  GoldenSetStatus golden_set;
  std::vector<NodeStatus> nodes;

  friend bool operator==(const ModelStatus&, const ModelStatus&) = default;
};
inline constexpr size_t kNodesMax = 100;  // Maximum number of nodes listed in a status.
inline constexpr size_t kFailedMax = 20;
inline constexpr size_t kHistoryMax = 50;
inline constexpr size_t kCommandsMax = 16;
inline constexpr size_t kAnswersMax = 64;  // More than kCommandsMax: every user must find the answer.

// The command of a user who sees this generation and status, without id and time.
Command CommandFor(std::string verb, int64_t generation, const ModelStatus& status);

struct Model {
  Metadata metadata;
  ModelSpec spec;
  ModelStatus status;
};

// Returns "namespace/name" of the fleet that serves the model.
std::string FleetOf(const Metadata& model, const ModelSpec& spec);

// Returns the key of the fleet "namespace/name".
Key FleetKey(const std::string& fleet);

// ---------------------------------------------------------------------------------------------------- ServingFleet

struct Autoscaling {
  Duration queue_delay_target = std::chrono::milliseconds(10);
  double utilization_target = 0.7;  // Target for the share of run slots that are busy.
  std::string prometheus_url;       // Empty: use the reports of the nodes.
  Duration metrics_age_max = std::chrono::seconds(15);
  Duration scale_down_stabilization = std::chrono::minutes(5);
  Duration scale_up_cooldown = std::chrono::seconds(3);
};

// Namespaces whose Models a fleet serves in addition to the Models of its own namespace.
struct AllowedNamespaces {
  bool all = false;
  std::vector<std::string> names;
};

// Limits of a fleet; nullopt: no limit.
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

// Since `at`, so many nodes have been enough.
struct Recommendation {
  TimePoint at;
  int replicas = 0;

  friend bool operator==(const Recommendation&, const Recommendation&) = default;
};

// Nodes that were asked for at the same time and have not become ready yet.
struct AskedNodes {
  TimePoint at;
  int nodes = 0;

  friend bool operator==(const AskedNodes&, const AskedNodes&) = default;
};

// The utilization that the fleet may have. Learned: with a higher one, a signal was above its target.
struct UtilizationLimit {
  double share = 0;  // 0: no limit.
  TimePoint at;
  std::string signal;  // The signal, as people read it: "Latency of digits".
  double target = 0;   // Its target. The limit ends when the target changes.

  friend bool operator==(const UtilizationLimit&, const UtilizationLimit&) = default;
};

// The last decision of autoscaling, and everything that the next one needs after a restart of the controller.
struct AutoscaleStatus {
  int desired = 0;
  std::string reason;  // "QueueDelay", "Utilization", "Latency", "Idle", "NoEvidence", ...
  std::string message;
  double value = 0;
  double target = 0;
  TimePoint evidence_at;  // Time of the newest sample that was used.
  TimePoint last_scale_up;
  // At most kRecommendationsMax, the oldest first; later ones have fewer nodes. All have fewer than there are now.
  std::vector<Recommendation> recommendations;
  // Since when requests have waited too long although the fleet has the nodes that its demand needs; TimePoint{}: they
  // do not.
  TimePoint waiting_since;
  // When metrics last confirmed the recommendations and waiting_since. It is written rarely, so that it does not cost a
  // write per second.
  TimePoint checked_at;
  std::vector<AskedNodes> asked;      // At most kAskedMax, the oldest first.
  std::vector<double> start_seconds;  // Measured from asked to ready. At most kStartsMax, the newest last.
  UtilizationLimit utilization_limit;

  friend bool operator==(const AutoscaleStatus&, const AutoscaleStatus&) = default;
};
inline constexpr size_t kRecommendationsMax = 10;
inline constexpr size_t kAskedMax = 20;
inline constexpr size_t kStartsMax = 10;

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
  std::string selector;          // Label selector of the pods; "" in standalone mode.
  std::string image;             // Image of the pods; "" in standalone mode.
  bool image_from_spec = false;  // Whether `image` was spec.image. If not, it was the operator's default.
  // Namespace and name of the Lease that the controller renews, "longshore/longshore-controller"; "" in standalone
  // mode.
  std::string controller_lease;
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

// Returns what the status of a Model of this fleet must have observed to be about the fleet as it is now.
ObservedFleet ToObserve(const ServingFleet& fleet);

// Whether the fleet serves Models of this namespace.
bool Allows(const ServingFleet& fleet, const std::string& namespace_);

}  // namespace longshore::api
