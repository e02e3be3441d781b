// Statuses as JSON. Written by the controller and read by it, so reading is lenient: what is absent or of another type
// has its default.
#include <algorithm>

#include "controller/api/format.h"
#include "controller/api/parse.h"
#include "controller/api/units.h"

namespace longshore::api {
namespace {

constexpr std::pair<RolloutPhase, std::string_view> kPhases[] = {
    {RolloutPhase::kNone, "None"},           {RolloutPhase::kValidating, "Validating"},
    {RolloutPhase::kLoading, "Loading"},     {RolloutPhase::kStep, "Step"},
    {RolloutPhase::kPaused, "Paused"},       {RolloutPhase::kPromoting, "Promoting"},
    {RolloutPhase::kCompleted, "Completed"}, {RolloutPhase::kRolledBack, "RolledBack"}};

RolloutPhase PhaseOf(const std::string& name) {
  for (const auto& [phase, known] : kPhases) {
    if (known == name) return phase;
  }
  return RolloutPhase::kNone;
}

template <typename T>
void Get(const Json& json, const char* key, T& out) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || found == json.end()) return;
  if constexpr (std::is_same_v<T, bool>) {
    if (found->is_boolean()) out = found->template get<bool>();
  } else if constexpr (std::is_arithmetic_v<T>) {
    if (found->is_number()) out = found->template get<T>();
  } else {
    if (found->is_string()) out = found->template get<T>();
  }
}

void GetTime(const Json& json, const char* key, TimePoint& out) {
  std::string text;
  Get(json, key, text);
  if (const Result<TimePoint> at = ParseTime(text)) out = *at;
}

const Json& Child(const Json& json, const char* key) {
  static const Json kNull;
  if (!json.is_object()) return kNull;
  const auto found = json.find(key);
  return found == json.end() ? kNull : *found;
}

// Every entry of an array; nothing when there is none.
template <typename T, typename Read>
std::vector<T> GetList(const Json& json, const char* key, Read read) {
  std::vector<T> out;
  const Json& list = Child(json, key);
  if (!list.is_array()) return out;
  for (const Json& item : list) out.push_back(read(item));
  return out;
}

Json ToJson(const Condition& condition) {
  return {{"type", condition.type},
          {"status", condition.status},
          {"reason", condition.reason},
          {"message", condition.message},
          {"observedGeneration", condition.observed_generation},
          {"lastTransitionTime", FormatTime(condition.last_transition)}};
}
Condition ConditionFrom(const Json& json) {
  Condition out;
  Get(json, "type", out.type);
  Get(json, "status", out.status);
  Get(json, "reason", out.reason);
  Get(json, "message", out.message);
  Get(json, "observedGeneration", out.observed_generation);
  GetTime(json, "lastTransitionTime", out.last_transition);
  return out;
}

Json ToJson(const Verdict& verdict) {
  return {{"result", verdict.result},
          {"reason", verdict.reason},
          {"message", verdict.message},
          {"numbers", verdict.numbers}};
}
Verdict VerdictFrom(const Json& json) {
  Verdict out;
  Get(json, "result", out.result);
  Get(json, "reason", out.reason);
  Get(json, "message", out.message);
  const Json& numbers = Child(json, "numbers");
  if (!numbers.is_object()) return out;
  for (const auto& [name, value] : numbers.items()) {
    if (value.is_number()) out.numbers[name] = value.get<double>();
  }
  return out;
}

Json ToJson(const RolloutStatus& rollout) {
  return {{"id", rollout.id},
          {"phase", RolloutPhaseName(rollout.phase)},
          {"stable", rollout.stable},
          {"candidate", rollout.candidate},
          {"attempt", rollout.attempt},
          {"step", rollout.step_index},
          {"weight", rollout.weight_percent},
          {"pausedReason", rollout.paused_reason},
          {"startedAt", FormatTime(rollout.started_at)},
          {"stepStartedAt", FormatTime(rollout.step_started_at)},
          {"stepCandidateRequests", rollout.step_candidate_requests},
          {"pausedByCommand", rollout.paused_by_command},
          {"evidenceUsedAt", FormatTime(rollout.evidence_used_at)},
          {"analysis", rollout.analysis},
          {"verdict", ToJson(rollout.verdict)}};
}
RolloutStatus RolloutFrom(const Json& json) {
  RolloutStatus out;
  std::string phase;
  Get(json, "phase", phase);
  out.phase = PhaseOf(phase);
  Get(json, "id", out.id);
  Get(json, "stable", out.stable);
  Get(json, "candidate", out.candidate);
  Get(json, "attempt", out.attempt);
  Get(json, "step", out.step_index);
  Get(json, "weight", out.weight_percent);
  Get(json, "pausedReason", out.paused_reason);
  GetTime(json, "startedAt", out.started_at);
  GetTime(json, "stepStartedAt", out.step_started_at);
  Get(json, "stepCandidateRequests", out.step_candidate_requests);
  Get(json, "pausedByCommand", out.paused_by_command);
  GetTime(json, "evidenceUsedAt", out.evidence_used_at);
  out.analysis = Child(json, "analysis");
  out.verdict = VerdictFrom(Child(json, "verdict"));
  return out;
}

Json ToJson(const FailedVersion& failed) {
  return {{"version", failed.version}, {"digest", failed.digest},   {"generation", failed.generation},
          {"reason", failed.reason},   {"message", failed.message}, {"at", FormatTime(failed.at)}};
}
FailedVersion FailedFrom(const Json& json) {
  FailedVersion out;
  Get(json, "version", out.version);
  Get(json, "digest", out.digest);
  Get(json, "generation", out.generation);
  Get(json, "reason", out.reason);
  Get(json, "message", out.message);
  GetTime(json, "at", out.at);
  return out;
}

Json ToJson(const HistoryEntry& entry) {
  return {{"at", FormatTime(entry.at)}, {"version", entry.version}, {"what", entry.what}, {"message", entry.message}};
}
HistoryEntry HistoryFrom(const Json& json) {
  HistoryEntry out;
  GetTime(json, "at", out.at);
  Get(json, "version", out.version);
  Get(json, "what", out.what);
  Get(json, "message", out.message);
  return out;
}

Json ToJson(const NodeStatus& node) { return {{"node", node.node}, {"state", node.state}}; }
NodeStatus NodeFrom(const Json& json) {
  NodeStatus out;
  Get(json, "node", out.node);
  Get(json, "state", out.state);
  return out;
}

Json ToJson(const FleetNodeStatus& node) {
  return {{"name", node.name}, {"pid", node.pid}, {"state", node.state}, {"adminAddress", node.admin_address}};
}
FleetNodeStatus FleetNodeFrom(const Json& json) {
  FleetNodeStatus out;
  Get(json, "name", out.name);
  Get(json, "pid", out.pid);
  Get(json, "state", out.state);
  Get(json, "adminAddress", out.admin_address);
  return out;
}

template <typename T>
Json ListToJson(const std::vector<T>& list) {
  Json json = Json::array();
  for (const T& item : list) json.push_back(ToJson(item));
  return json;
}

Json ToJson(const AutoscaleStatus& autoscale) {
  Json recommendations = Json::array();
  for (const auto& [at, count] : autoscale.recommendations)
    recommendations.push_back({{"at", FormatTime(at)}, {"replicas", count}});
  return {{"desired", autoscale.desired},
          {"reason", autoscale.reason},
          {"message", autoscale.message},
          {"value", autoscale.value},
          {"target", autoscale.target},
          {"evidenceAt", FormatTime(autoscale.evidence_at)},
          {"lastScaleUp", FormatTime(autoscale.last_scale_up)},
          {"recommendations", std::move(recommendations)}};
}
AutoscaleStatus AutoscaleFrom(const Json& json) {
  AutoscaleStatus out;
  Get(json, "desired", out.desired);
  Get(json, "reason", out.reason);
  Get(json, "message", out.message);
  Get(json, "value", out.value);
  Get(json, "target", out.target);
  GetTime(json, "evidenceAt", out.evidence_at);
  GetTime(json, "lastScaleUp", out.last_scale_up);
  out.recommendations = GetList<std::pair<TimePoint, int>>(json, "recommendations", [](const Json& item) {
    std::pair<TimePoint, int> entry;
    GetTime(item, "at", entry.first);
    Get(item, "replicas", entry.second);
    return entry;
  });
  return out;
}

Status CheckIsStatus(const Json& status) {
  if (status.is_object() || status.is_null()) return {};
  return DataLoss("status: {} is not a mapping", status.type_name());
}

std::map<int64_t, std::string> DigestsFrom(const Json& json) {
  std::map<int64_t, std::string> out;
  if (!json.is_object()) return out;
  for (const auto& [version, digest] : json.items()) {
    if (digest.is_string()) out[std::strtoll(version.c_str(), nullptr, 10)] = digest.get<std::string>();
  }
  return out;
}

}  // namespace

std::string_view RolloutPhaseName(RolloutPhase phase) { return kPhases[static_cast<size_t>(phase)].second; }

bool IsUnderWay(RolloutPhase phase) {
  return phase != RolloutPhase::kNone && phase != RolloutPhase::kCompleted && phase != RolloutPhase::kRolledBack;
}

void SetCondition(std::vector<Condition>& conditions, Condition next) {
  const auto found = std::ranges::find(conditions, next.type, &Condition::type);
  if (found == conditions.end()) {
    conditions.push_back(std::move(next));
    return;
  }
  if (found->status == next.status) next.last_transition = found->last_transition;
  *found = std::move(next);
}

std::string ToString(const Key& key) { return fmt::format("{} {}/{}", key.kind, key.namespace_, key.name); }

Json ToJson(const ModelStatus& status) {
  Json digests = Json::object();
  for (const auto& [version, digest] : status.digests) digests[std::to_string(version)] = digest;
  Json json{{"epoch", status.epoch},
            {"observedGeneration", status.observed_generation},
            {"stableVersion", status.stable_version},
            {"conditions", ListToJson(status.conditions)},
            {"rollout", ToJson(status.rollout)},
            {"failed", ListToJson(status.failed)},
            {"history", ListToJson(status.history)},
            {"digests", std::move(digests)},
            {"commandResult", status.command_result},
            {"nodes", ListToJson(status.nodes)}};
  if (status.command) {
    json["command"] = {
        {"verb", status.command->verb}, {"generation", status.command->generation}, {"step", status.command->step}};
  }
  return json;
}

Result<ModelStatus> ModelStatusFromJson(const Json& json) {
  RETURN_IF_ERROR(CheckIsStatus(json));
  ModelStatus out;
  Get(json, "epoch", out.epoch);
  Get(json, "observedGeneration", out.observed_generation);
  Get(json, "stableVersion", out.stable_version);
  out.conditions = GetList<Condition>(json, "conditions", ConditionFrom);
  out.rollout = RolloutFrom(Child(json, "rollout"));
  out.failed = GetList<FailedVersion>(json, "failed", FailedFrom);
  out.history = GetList<HistoryEntry>(json, "history", HistoryFrom);
  out.digests = DigestsFrom(Child(json, "digests"));
  Get(json, "commandResult", out.command_result);
  out.nodes = GetList<NodeStatus>(json, "nodes", NodeFrom);
  if (const Json& command = Child(json, "command"); command.is_object()) {
    out.command.emplace();
    Get(command, "verb", out.command->verb);
    Get(command, "generation", out.command->generation);
    Get(command, "step", out.command->step);
  }
  return out;
}

Json ToJson(const ServingFleetStatus& status) {
  return {{"epoch", status.epoch},
          {"observedGeneration", status.observed_generation},
          {"conditions", ListToJson(status.conditions)},
          {"replicas", status.replicas},
          {"readyReplicas", status.ready_replicas},
          {"grpcAddress", status.grpc_address},
          {"restAddress", status.rest_address},
          {"autoscale", ToJson(status.autoscale)},
          {"nodes", ListToJson(status.nodes)}};
}

Result<ServingFleetStatus> ServingFleetStatusFromJson(const Json& json) {
  RETURN_IF_ERROR(CheckIsStatus(json));
  ServingFleetStatus out;
  Get(json, "epoch", out.epoch);
  Get(json, "observedGeneration", out.observed_generation);
  out.conditions = GetList<Condition>(json, "conditions", ConditionFrom);
  Get(json, "replicas", out.replicas);
  Get(json, "readyReplicas", out.ready_replicas);
  Get(json, "grpcAddress", out.grpc_address);
  Get(json, "restAddress", out.rest_address);
  out.autoscale = AutoscaleFrom(Child(json, "autoscale"));
  out.nodes = GetList<FleetNodeStatus>(json, "nodes", FleetNodeFrom);
  return out;
}

}  // namespace longshore::api
