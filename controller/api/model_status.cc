#include "controller/api/format.h"
#include "controller/api/lenient.h"
#include "controller/api/parse.h"

namespace longshore::api {
namespace {

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
  Json json{{"id", rollout.id},
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
            {"promotedByCommand", rollout.promoted_by_command},
            {"evidenceUsedAt", FormatTime(rollout.evidence_used_at)},
            {"heldSince", FormatTime(rollout.held_since)},
            {"analysis", rollout.analysis},
            {"verdict", ToJson(rollout.verdict)}};
  // Omitted by default, as `commands` and `answers` are: if a `longshore` of release 0.1 writes the status, it drops
  // fields that it does not know, and the admission policy then rejects the write.
  if (rollout.undo_generation != 0) json["undoGeneration"] = rollout.undo_generation;
  if (rollout.shadow_done) json["shadowDone"] = true;
  return json;
}
RolloutStatus RolloutFrom(const Json& json) {
  RolloutStatus out;
  std::string phase;
  Get(json, "phase", phase);
  out.phase = RolloutPhaseOf(phase);
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
  Get(json, "promotedByCommand", out.promoted_by_command);
  GetTime(json, "evidenceUsedAt", out.evidence_used_at);
  GetTime(json, "heldSince", out.held_since);
  Get(json, "undoGeneration", out.undo_generation);
  Get(json, "shadowDone", out.shadow_done);
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

// A command without an id cannot be answered.
std::vector<Command> CommandsFrom(const Json& json) {
  std::vector<Command> commands = GetList<Command>(json, "commands", [](const Json& item) {
    Command out;
    Get(item, "id", out.id);
    Get(item, "verb", out.verb);
    GetTime(item, "at", out.at);
    Get(item, "generation", out.generation);
    Get(item, "attempt", out.attempt);
    Get(item, "step", out.step);
    Get(item, "from", out.from);
    Get(item, "to", out.to);
    Get(item, "by", out.by);
    return out;
  });
  std::erase_if(commands, [](const Command& command) { return command.id.empty(); });
  return commands;
}

Json ToJson(const CommandAnswer& answer) {
  return {{"id", answer.id},
          {"verb", answer.verb},
          {"result", CommandResultName(answer.result)},
          {"message", answer.message},
          {"at", FormatTime(answer.at)}};
}
CommandAnswer AnswerFrom(const Json& json) {
  CommandAnswer out;
  Get(json, "id", out.id);
  Get(json, "verb", out.verb);
  Get(json, "message", out.message);
  GetTime(json, "at", out.at);
  std::string result;
  Get(json, "result", result);
  for (const CommandResult known : {CommandResult::kRefused, CommandResult::kSuperseded}) {
    if (result == CommandResultName(known)) out.result = known;
  }
  return out;
}

Json ToJson(const ObservedFleet& fleet) {
  return {{"uid", fleet.uid}, {"generation", fleet.generation}, {"nodes", fleet.nodes}};
}
ObservedFleet ObservedFleetFrom(const Json& json) {
  ObservedFleet out;
  Get(json, "uid", out.uid);
  Get(json, "generation", out.generation);
  Get(json, "nodes", out.nodes);
  return out;
}

Json ToJson(const Traffic& traffic) {
  return {{"at", FormatTime(traffic.at)},
          {"over", FormatDuration(traffic.over)},
          {"requestsPerSecond", traffic.requests_per_second},
          {"errorRate", traffic.error_rate}};
}
// A record without a valid time is ignored.
Traffic TrafficFrom(const Json& json) {
  Traffic out;
  std::string over;
  Get(json, "over", over);
  const Result<Duration> duration = ParseDuration(over);
  if (!duration) return out;
  GetTime(json, "at", out.at);
  out.over = *duration;
  Get(json, "requestsPerSecond", out.requests_per_second);
  Get(json, "errorRate", out.error_rate);
  return out;
}

Json ToJson(const GoldenFailure& failure) {
  Json json{{"node", failure.node},
            {"at", FormatTime(failure.at)},
            {"unreadable", failure.unreadable},
            {"message", failure.message}};
  if (failure.gone_since != TimePoint{}) json["goneSince"] = FormatTime(failure.gone_since);
  return json;
}
GoldenFailure GoldenFailureFrom(const Json& json) {
  GoldenFailure out;
  Get(json, "node", out.node);
  GetTime(json, "at", out.at);
  Get(json, "unreadable", out.unreadable);
  Get(json, "message", out.message);
  GetTime(json, "goneSince", out.gone_since);
  return out;
}

Json ToJson(const GoldenRun& run) {
  return {{"node", run.node}, {"state", GoldenRunStateName(run.state)}, {"message", run.message}};
}
GoldenRun GoldenRunFrom(const Json& json) {
  GoldenRun out;
  std::string state;
  Get(json, "node", out.node);
  Get(json, "state", state);
  Get(json, "message", out.message);
  for (const GoldenRunState known : {GoldenRunState::kPassed, GoldenRunState::kFailed}) {
    if (state == GoldenRunStateName(known)) out.state = known;
  }
  return out;
}

Json ToJson(const GoldenRequest& request) {
  return {{"id", request.id},
          {"at", FormatTime(request.at)},
          {"ended", request.ended},
          {"waiting", request.waiting},
          {"passed", request.passed},
          {"failed", request.failed},
          {"nodes", ListToJson(request.nodes, [](const GoldenRun& run) { return ToJson(run); })}};
}
GoldenRequest GoldenRequestFrom(const Json& json) {
  GoldenRequest out;
  Get(json, "id", out.id);
  GetTime(json, "at", out.at);
  Get(json, "ended", out.ended);
  Get(json, "waiting", out.waiting);
  Get(json, "passed", out.passed);
  Get(json, "failed", out.failed);
  out.nodes = GetList<GoldenRun>(json, "nodes", GoldenRunFrom);
  return out;
}

Json ToJson(const GoldenSetStatus& golden) {
  Json json{{"version", golden.version}, {"settings", golden.settings}};
  if (golden.last_run != TimePoint{}) json["lastRun"] = FormatTime(golden.last_run);
  if (!golden.failures.empty())
    json["failures"] = ListToJson(golden.failures, [](const GoldenFailure& failure) { return ToJson(failure); });
  if (golden.request) json["request"] = ToJson(*golden.request);
  return json;
}
GoldenSetStatus GoldenSetFrom(const Json& json) {
  GoldenSetStatus out;
  Get(json, "version", out.version);
  Get(json, "settings", out.settings);
  GetTime(json, "lastRun", out.last_run);
  out.failures = GetList<GoldenFailure>(json, "failures", GoldenFailureFrom);
  if (const Json& request = Child(json, "request"); request.is_object()) out.request = GoldenRequestFrom(request);
  return out;
}

Json ToJson(const NodeStatus& node) { return {{"node", node.node}, {"state", node.state}}; }
NodeStatus NodeFrom(const Json& json) {
  NodeStatus out;
  Get(json, "node", out.node);
  Get(json, "state", out.state);
  return out;
}

std::map<int64_t, std::string> DigestsFrom(const Json& json) {
  std::map<int64_t, std::string> out;
  if (!json.is_object()) return out;
  for (const auto& [version, digest] : json.items()) {
    if (digest.is_string()) out[std::strtoll(version.c_str(), nullptr, 10)] = digest.get<std::string>();
  }
  return out;
}

Json ToJson(const std::map<int64_t, Source>& sources) {
  Json json = Json::object();
  for (const auto& [version, source] : sources) {
    json[std::to_string(version)] = {{"uri", source.uri}, {"sha256", source.sha256}};
  }
  return json;
}
std::map<int64_t, Source> SourcesFrom(const Json& json) {
  std::map<int64_t, Source> out;
  if (!json.is_object()) return out;
  for (const auto& [version, source] : json.items()) {
    Source& read = out[std::strtoll(version.c_str(), nullptr, 10)];
    Get(source, "uri", read.uri);
    Get(source, "sha256", read.sha256);
  }
  return out;
}

constexpr auto kItemToJson = [](const auto& item) { return ToJson(item); };

}  // namespace

Json ToJson(const Command& command) {
  Json json{{"id", command.id},
            {"verb", command.verb},
            {"generation", command.generation},
            {"attempt", command.attempt},
            {"step", command.step}};
  if (command.at != TimePoint{}) json["at"] = FormatTime(command.at);
  if (command.from != 0) json["from"] = command.from;
  if (command.to != 0) json["to"] = command.to;
  if (!command.by.empty()) json["by"] = command.by;
  return json;
}

Json ToJson(const ModelStatus& status) {
  Json digests = Json::object();
  for (const auto& [version, digest] : status.digests) digests[std::to_string(version)] = digest;
  Json json{{"epoch", status.epoch},
            {"observedGeneration", status.observed_generation},
            {"stableVersion", status.stable_version},
            {"conditions", ListToJson(status.conditions, kItemToJson)},
            {"rollout", ToJson(status.rollout)},
            {"failed", ListToJson(status.failed, kItemToJson)},
            {"history", ListToJson(status.history, kItemToJson)},
            {"digests", std::move(digests)},
            {"sources", ToJson(status.sources)},
            {"commandResult", status.command_result},
            {"nodes", ListToJson(status.nodes, kItemToJson)}};
  if (status.command) {
    json["command"] = {
        {"verb", status.command->verb}, {"generation", status.command->generation}, {"step", status.command->step}};
  }
  if (!status.commands.empty()) json["commands"] = ListToJson(status.commands, kItemToJson);
  if (!status.answers.empty()) json["answers"] = ListToJson(status.answers, kItemToJson);
  if (!status.accepted_commands.empty()) json["acceptedCommands"] = status.accepted_commands;
  if (!status.observed_fleet.uid.empty()) json["observedFleet"] = ToJson(status.observed_fleet);
  if (status.traffic.over > Duration(0)) json["traffic"] = ToJson(status.traffic);
  if (status.golden_set.version != 0) json["goldenSet"] = ToJson(status.golden_set);
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
  out.sources = SourcesFrom(Child(json, "sources"));
  Get(json, "commandResult", out.command_result);
  out.nodes = GetList<NodeStatus>(json, "nodes", NodeFrom);
  if (const Json& command = Child(json, "command"); command.is_object()) {
    out.command.emplace();
    Get(command, "verb", out.command->verb);
    Get(command, "generation", out.command->generation);
    Get(command, "step", out.command->step);
  }
  out.commands = CommandsFrom(json);
  out.answers = GetList<CommandAnswer>(json, "answers", AnswerFrom);
  out.accepted_commands = GetList<std::string>(
      json, "acceptedCommands", [](const Json& item) { return item.is_string() ? item.get<std::string>() : ""; });
  out.observed_fleet = ObservedFleetFrom(Child(json, "observedFleet"));
  out.traffic = TrafficFrom(Child(json, "traffic"));
  out.golden_set = GoldenSetFrom(Child(json, "goldenSet"));
  return out;
}

}  // namespace longshore::api
