#include "controller/cli/text/text.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/base/text.h"
#include "controller/api/format.h"
#include "controller/cli/text/shadow.h"
#include "controller/cli/text/table.h"
#include "controller/decide/rollout/warm.h"

namespace longshore::cli::text {
namespace {

using api::RolloutPhase;

std::string VersionText(int64_t version) { return version == 0 ? "-" : std::to_string(version); }

std::string WantedText(const api::ModelSpec& spec) { return spec.version ? std::to_string(*spec.version) : "latest"; }

const api::Condition* Find(const std::vector<api::Condition>& conditions, const std::string& type) {
  const auto found = std::find_if(conditions.begin(), conditions.end(), [&](const auto& c) { return c.type == type; });
  return found == conditions.end() ? nullptr : &*found;
}

// The columns READY and REASON.
std::pair<std::string, std::string> Readiness(const std::vector<api::Condition>& conditions) {
  const api::Condition* ready = Find(conditions, "Ready");
  return ready == nullptr ? std::pair<std::string, std::string>("Unknown", "-")
                          : std::pair(ready->status, ready->reason);
}

std::string Heading(const std::string& text) { return "\n" + text + "\n"; }

std::string ConditionsText(const std::vector<api::Condition>& conditions, TimePoint now) {
  Table table({"TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"});
  for (const api::Condition& condition : conditions) {
    table.Add(
        {condition.type, condition.status, Age(condition.last_transition, now), condition.reason, condition.message});
  }
  return table.empty() ? "  none\n" : table.Text(2);
}

std::string HistoryText(const std::vector<api::HistoryEntry>& history, TimePoint now) {
  Table table({"AGO", "VERSION", "WHAT", "MESSAGE"});
  for (auto entry = history.rbegin(); entry != history.rend(); ++entry) {
    table.Add({Age(entry->at, now), VersionText(entry->version), entry->what, entry->message});
  }
  return table.empty() ? "  nothing yet\n" : table.Text(2);
}

std::string FailedText(const std::vector<api::FailedVersion>& failed, TimePoint now) {
  Table table({"VERSION", "AGO", "REASON", "MESSAGE"});
  for (const api::FailedVersion& version : failed) {
    table.Add({VersionText(version.version), Age(version.at, now), version.reason, version.message});
  }
  return table.Text(2);
}

std::string NodesText(const std::vector<api::NodeStatus>& nodes) {
  Table table({"NODE", "VERSIONS"});
  for (const api::NodeStatus& node : nodes) table.Add({node.node, node.state});
  return table.empty() ? "  none\n" : table.Text(2);
}

std::string StepsText(const api::Rollout& rollout) {
  if (rollout.strategy == api::Strategy::kImmediate) return "100 % in one step";
  std::string text = PhaseText(rollout);
  for (const api::Step& step : rollout.steps) {
    text += Percent(step.weight_percent) + (step.manual_pause ? " (waits for promote)" : "") + " -> ";
  }
  return text + "100 %";
}

std::string ScaleText(const api::AutoscaleStatus& scale, TimePoint now) {
  std::string text = "  wanted nodes   " + std::to_string(scale.desired) + "\n  why            " + scale.reason + ": " +
                     scale.message + "\n";
  if (scale.evidence_at != TimePoint{}) text += "  evidence of    " + Age(scale.evidence_at, now) + " ago\n";
  return text;
}

std::string CommandsText(const api::ModelStatus& status, TimePoint now) {
  std::string text;
  for (const api::Command& command : status.commands)
    text += fmt::format("  waits          {}, given {} ago\n", command.verb, Age(command.at, now));
  if (!status.answers.empty()) return text + "  last command   " + ToString(status.answers.back()) + "\n";
  if (!status.command_result.empty()) text += "  last command   " + status.command_result + "\n";
  return text;
}

std::string NameText(const char* kind, const api::Metadata& metadata, const TableStyle& style) {
  return style.with_kind ? fmt::format("{}/{}", kind, metadata.name) : metadata.name;
}

std::string LabelsText(const std::map<std::string, std::string>& labels) {
  std::string text;
  for (const auto& [key, value] : labels) text += (text.empty() ? "" : ",") + key + "=" + value;
  return text.empty() ? "-" : text;
}

constexpr size_t kCauseBytesMax = 100;

// Why the manifest of the object, as it is now, is not in use; "" if it is.
std::string ManifestTrouble(const std::vector<api::Condition>& conditions) {
  const api::Condition* accepted = Find(conditions, "ManifestAccepted");
  return accepted == nullptr || accepted->status != "False" ? "" : CutText(accepted->message, kCauseBytesMax);
}

// Why the fleet needs help, or how many of its nodes are about to leave.
std::string WhyText(const api::ServingFleetStatus& status) {
  const api::Condition* stalled = Find(status.conditions, "Stalled");
  if (stalled != nullptr && stalled->status == "True") return CutText(stalled->message, kCauseBytesMax);
  if (std::string trouble = ManifestTrouble(status.conditions); !trouble.empty()) return trouble;
  const api::Condition* ready = Find(status.conditions, "Ready");
  if (ready != nullptr && ready->status == "False") return CutText(ready->message, kCauseBytesMax);
  const auto draining = std::ranges::count(status.nodes, "Draining", &api::FleetNodeStatus::state);
  if (draining == 0) return "-";
  return fmt::format("{} more {} draining", draining, draining == 1 ? "node is" : "nodes are");
}

std::string NodeNamesText(const std::vector<api::FleetNodeStatus>& nodes) {
  constexpr size_t kShownMax = 5;
  std::string text;
  for (size_t i = 0; i < nodes.size() && i < kShownMax; ++i) {
    text += fmt::format("{}{}{}", i == 0 ? "" : ",", nodes[i].name, nodes[i].state == "Draining" ? " (draining)" : "");
  }
  if (nodes.size() > kShownMax) text += fmt::format(" and {} more", nodes.size() - kShownMax);
  return text.empty() ? "-" : text;
}

// For the phases in which a pause keeps the name of the phase.
std::string PauseInShort(const api::RolloutStatus& rollout) {
  if (!IsWithoutWeight(rollout.phase) || rollout.paused_reason.empty()) return "";
  const bool awaits_promote = rollout.paused_reason == "ShadowPassed" || rollout.paused_reason == "Preview";
  return awaits_promote ? ", waits for promote" : ", paused";
}

// What has happened, or what holds the rollout up, in a few words.
std::string NoteText(const api::Model& model, TimePoint now) {
  const api::ModelStatus& status = model.status;
  if (std::string trouble = ManifestTrouble(status.conditions); !trouble.empty()) return trouble;
  if (IsUnderWay(status.rollout.phase)) {
    const std::string cause = CauseOf(model);
    return cause.empty() ? "rollout began " + Age(status.rollout.started_at, now) + " ago"
                         : CutText(cause, kCauseBytesMax);
  }
  const api::Condition* stalled = Find(status.conditions, "Stalled");
  if (stalled != nullptr && stalled->status == "True")
    return CutText(stalled->reason + ": " + stalled->message, kCauseBytesMax);
  if (const std::string why = WhyNothingServes(model); !why.empty())
    return CutText("no version serves: " + why, kCauseBytesMax);
  if (FailsGoldenSet(model)) return CutText(Find(status.conditions, "GoldenSetPasses")->message, kCauseBytesMax);
  const api::HistoryEntry* began = rollout::BeganToServe(status);
  return began == nullptr ? "-"
                          : fmt::format("version {} began to serve {} ago", status.stable_version, Age(began->at, now));
}

}  // namespace

std::string CauseOf(const api::Model& model) {
  const api::Condition* reconciling = Find(model.status.conditions, "Reconciling");
  const bool is_under_way = IsUnderWay(model.status.rollout.phase);
  return is_under_way && reconciling != nullptr && reconciling->status == "True" ? reconciling->message : "";
}

std::optional<TimePoint> TimeOfNumbers(const api::Model& model) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const bool is_judged = !rollout.verdict.result.empty() && rollout.verdict.reason != "NotStarted";
  if (!IsUnderWay(rollout.phase) || !is_judged || rollout.evidence_used_at == TimePoint{}) return std::nullopt;
  return rollout.evidence_used_at;
}

std::string AgeOfNumbers(const api::Model& model, TimePoint now) {
  constexpr Duration kNew = std::chrono::seconds(5);
  const std::optional<TimePoint> at = TimeOfNumbers(model);
  return at && now - *at >= kNew ? Age(*at, now) : "";
}

std::string WhyNothingServes(const api::Model& model) {
  static const std::set<std::string> kReasons = {"NoFleet", "NoNodes", "NotLoaded", "FleetStopping", "FleetStopped"};
  const api::Condition* ready = Find(model.status.conditions, "Ready");
  const bool serves_nothing = ready != nullptr && ready->status == "False" && kReasons.contains(ready->reason);
  return serves_nothing ? ready->message : "";
}

bool FailsGoldenSet(const api::Model& model) {
  const api::Condition* golden = Find(model.status.conditions, "GoldenSetPasses");
  return golden != nullptr && golden->status == "False";
}

bool LacksNodes(const api::Model& model) {
  const api::Condition* available = Find(model.status.conditions, "NodesAvailable");
  return available != nullptr && available->status == "False";
}

std::string Age(TimePoint at, TimePoint now) {
  if (at == TimePoint{}) return "-";
  const int64_t seconds = std::max<int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(now - at).count());
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (seconds < 2 * 3600) return std::to_string(seconds / 60) + "m";
  if (seconds < 2 * 86400) return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86400) + "d";
}

std::string Percent(double percent) { return fmt::format("{:g} %", percent); }

std::string RolloutInShort(const api::Model& model) {
  const api::RolloutStatus& rollout = model.status.rollout;
  if (!IsUnderWay(rollout.phase)) return "-";
  const std::string from_to = rollout.stable == 0 ? fmt::format("new: {}", rollout.candidate)
                                                  : fmt::format("{} -> {}", rollout.stable, rollout.candidate);
  const bool weighted = rollout.phase == RolloutPhase::kStep || rollout.phase == RolloutPhase::kPaused;
  if (!weighted) return from_to + ", " + std::string(RolloutPhaseName(rollout.phase)) + PauseInShort(rollout);
  return fmt::format("{}, step {} of {} at {}{}", from_to, rollout.step_index + 1, model.spec.rollout.steps.size(),
                     Percent(rollout.weight_percent), rollout.phase == RolloutPhase::kPaused ? ", paused" : "");
}

std::string ModelsTable(const std::vector<api::Model>& models, TimePoint now, const TableStyle& style) {
  std::vector<std::string> header = {"NAMESPACE", "NAME",   "FLEET",   "READY", "REASON",
                                     "STABLE",    "WANTED", "ROLLOUT", "NOTE"};
  if (style.wide) header.insert(header.end(), {"SERVED NAME", "SOURCE", "LABELS"});
  Table table(header);
  for (const api::Model& model : models) {
    const auto [ready, reason] = Readiness(model.status.conditions);
    std::vector<std::string> row = {model.metadata.namespace_,
                                    NameText("model", model.metadata, style),
                                    model.spec.fleet,
                                    ready,
                                    reason,
                                    VersionText(model.status.stable_version),
                                    WantedText(model.spec),
                                    RolloutInShort(model),
                                    NoteText(model, now)};
    if (style.wide)
      row.insert(row.end(), {model.spec.served_name, model.spec.source_uri, LabelsText(model.metadata.labels)});
    table.Add(row);
  }
  return table.Text({.headers = style.headers});
}

std::string FleetsTable(const std::vector<api::ServingFleet>& fleets, const TableStyle& style) {
  std::vector<std::string> header = {"NAMESPACE", "NAME",   "READY", "REASON", "NODES", "READY-NODES",
                                     "WANTED",    "SIGNAL", "GRPC",  "REST",   "WHY"};
  if (style.wide) header.insert(header.end(), {"NODE NAMES", "LABELS"});
  Table table(header);
  for (const api::ServingFleet& fleet : fleets) {
    const api::ServingFleetStatus& status = fleet.status;
    const auto [ready, reason] = Readiness(status.conditions);
    const bool scaled = !status.autoscale.reason.empty();
    std::vector<std::string> row = {fleet.metadata.namespace_,
                                    NameText("fleet", fleet.metadata, style),
                                    ready,
                                    reason,
                                    std::to_string(status.replicas),
                                    std::to_string(status.ready_replicas),
                                    scaled ? std::to_string(status.autoscale.desired) : "-",
                                    scaled ? status.autoscale.reason : "-",
                                    status.grpc_address,
                                    status.rest_address,
                                    WhyText(status)};
    if (style.wide) row.insert(row.end(), {NodeNamesText(status.nodes), LabelsText(fleet.metadata.labels)});
    table.Add(row);
  }
  return table.Text({.headers = style.headers});
}

std::string DescribeModel(const api::Model& model, TimePoint now) {
  const api::ModelStatus& status = model.status;
  const api::ModelSpec& spec = model.spec;
  std::string text = fmt::format("Model {}/{}\n", model.metadata.namespace_, model.metadata.name);
  text += fmt::format("  called         {} on fleet {}\n", spec.served_name, spec.fleet);
  text += fmt::format("  source         {}\n", spec.source_uri);
  const std::string why = WhyNothingServes(model);
  text += fmt::format("  serves         {}\n",
                      why.empty() ? "version " + VersionText(status.stable_version) : "no version: " + why);
  text += fmt::format("  wanted         version {}\n", WantedText(spec));
  text += fmt::format("  rollout        {}\n", RolloutInShort(model));
  text += fmt::format("  steps          {}\n", StepsText(spec.rollout));
  text += fmt::format("  generation     {}; the controller has processed {}\n", model.metadata.generation,
                      status.observed_generation);
  text += CommandsText(status, now);
  text += Heading("Conditions") + ConditionsText(status.conditions, now);
  text += Heading("Nodes") + NodesText(status.nodes);
  if (!status.failed.empty()) text += Heading("Versions that failed") + FailedText(status.failed, now);
  text += Heading("History, newest first") + HistoryText(status.history, now);
  return text;
}

std::string DescribeFleet(const api::ServingFleet& fleet, TimePoint now) {
  const api::ServingFleetStatus& status = fleet.status;
  std::string text = fmt::format("ServingFleet {}/{}\n", fleet.metadata.namespace_, fleet.metadata.name);
  text += fmt::format("  gRPC           {}\n  REST           {}\n", status.grpc_address, status.rest_address);
  text += fmt::format("  nodes          {}, {} ready, bounds {} to {}\n", status.replicas, status.ready_replicas,
                      fleet.spec.replicas_min, fleet.spec.replicas_max);
  if (!status.autoscale.reason.empty()) text += Heading("Scaling") + ScaleText(status.autoscale, now);
  text += Heading("Conditions") + ConditionsText(status.conditions, now);
  Table nodes({"NODE", "PID", "STATE", "ADMIN"});
  for (const api::FleetNodeStatus& node : status.nodes) {
    nodes.Add({node.name, node.pid == 0 ? "-" : std::to_string(node.pid), node.state, node.admin_address});
  }
  return text + Heading("Nodes") + (nodes.empty() ? "  none\n" : nodes.Text(2));
}

}  // namespace longshore::cli::text
