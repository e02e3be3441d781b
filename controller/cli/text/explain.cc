#include "controller/cli/text/explain.h"

#include <algorithm>
#include <set>

#include "controller/api/units.h"
#include "controller/cli/text/shadow.h"
#include "controller/cli/text/table.h"
#include "controller/cli/text/text.h"

namespace longshore::cli::text {
namespace {

using api::RolloutPhase;

// The arguments by which a command names the object.
std::string TargetOf(const api::Metadata& metadata) {
  return metadata.namespace_ == "default" ? metadata.name : metadata.name + " -n " + metadata.namespace_;
}

std::string Section(const std::string& title, const std::string& body) { return "\n" + title + "\n" + body; }

const api::HistoryEntry* LastOf(const api::ModelStatus& status, int64_t version) {
  const auto found = std::find_if(status.history.rbegin(), status.history.rend(),
                                  [&](const api::HistoryEntry& entry) { return entry.version == version; });
  return found == status.history.rend() ? nullptr : &*found;
}

const api::FailedVersion* FailureOf(const api::ModelStatus& status, int64_t version) {
  const auto found = std::find_if(status.failed.rbegin(), status.failed.rend(),
                                  [&](const api::FailedVersion& failed) { return failed.version == version; });
  return found == status.failed.rend() ? nullptr : &*found;
}

std::string WhyThisVersion(const api::Model& model, TimePoint now) {
  const int64_t stable = model.status.stable_version;
  if (stable == 0) return "  No version serves yet: the first one has to load and pass its checks.\n";
  std::string text = fmt::format("  Version {} serves", stable);
  const api::HistoryEntry* entry = LastOf(model.status, stable);
  if (entry == nullptr) return text + ".\n";
  return text + fmt::format(": {} {} ago. {}\n", entry->what, Age(entry->at, now), entry->message);
}

std::string WhyNotTheWanted(const api::Model& model, TimePoint now) {
  const auto wanted = model.spec.version;
  if (!wanted) return "  The manifest wants the latest version that the nodes find.\n";
  if (*wanted == model.status.stable_version)
    return fmt::format("  The manifest wants version {}: it is served.\n", *wanted);
  std::string text = fmt::format("  The manifest wants version {}.\n", *wanted);
  if (const api::FailedVersion* failed = FailureOf(model.status, *wanted)) {
    text += fmt::format("  It failed {} ago ({}): {}\n", Age(failed->at, now), failed->reason, failed->message);
    const bool lacked_memory = failed->reason == "NotEnoughMemory";
    text +=
        lacked_memory
            ? "  It is tried again when one of these nodes has enough memory: unload other versions or Models, or give "
              "the nodes more memory. "
              "It is also tried again when its files or the manifest change, or after `longshore retry`.\n"
            : "  It is not tried again until its files or the manifest change, or until `longshore retry`.\n";
  } else if (model.status.rollout.candidate == *wanted && IsUnderWay(model.status.rollout.phase)) {
    text += "  Its rollout is under way.\n";
  } else if (model.status.observed_generation < model.metadata.generation) {
    text += "  The controller has not processed this manifest yet. Is longshore-controller running?\n";
  }
  return text;
}

// Returns the sentence that explains a value of RolloutStatus::paused_reason.
std::string PauseSentence(const std::string& reason) {
  if (reason == "Manual") return "The step waits for `longshore promote`.";
  if (reason == "Command") return "The rollout is paused by a command.";
  if (reason == "Spec") return "The rollout is paused by the manifest: spec.rollout.paused.";
  if (reason == "ShadowPassed")
    return "The pairs have shown what they must. `longshore promote` gives the version all requests.";
  if (reason == "Preview") return "People can try the version. `longshore promote` gives it all requests.";
  if (reason == "AnalysisFailed") return "The analysis failed, and the manifest says onFailure: Pause.";
  if (reason == "Inconclusive") {
    return "No test failed, but the step's proof or requests are still missing after its patience. The step ends when "
           "they are there, or by `longshore promote` or `longshore abort`.";
  }
  return "The rollout is paused: " + reason;
}

std::string StepReason(const api::Model& model, const api::Step& step, TimePoint now) {
  const api::RolloutStatus& rollout = model.status.rollout;
  if (rollout.weight_percent != step.weight_percent) {
    return fmt::format("The step to {} waits until enough nodes hold the version.", Percent(step.weight_percent));
  }
  const Duration left = step.hold.value_or(model.spec.rollout.hold) - (now - rollout.step_started_at);
  if (left <= Duration(0)) return "The step waits for evidence.";
  return fmt::format("The step is held for {}s more.", std::max<int64_t>(1, left / std::chrono::seconds(1)));
}

// The reports of the nodes about a candidate that is not ready: the part after "; " in the message of the condition
// Progressing.
std::string NodeReportText(const api::ModelStatus& status) {
  for (const api::Condition& condition : status.conditions) {
    const size_t report = condition.type == "Progressing" ? condition.message.find("; ") : std::string::npos;
    if (report != std::string::npos) return "  But " + condition.message.substr(report + 2) + "\n";
  }
  return "";
}

// Returns "" unless the condition is False; otherwise `text`, in which {0} is its message and {1} its reason.
std::string TextIfFalse(const api::ModelStatus& status, std::string_view type,
                        fmt::format_string<const std::string&, const std::string&> text) {
  for (const api::Condition& condition : status.conditions) {
    if (condition.type == type && condition.status == "False")
      return fmt::format(text, condition.message, condition.reason);
  }
  return "";
}

// The repeated runs of the golden set; "" if the manifest asks for none.
std::string GoldenSetText(const api::Model& model, const std::string& target) {
  for (const api::Condition& condition : model.status.conditions) {
    if (condition.type != "GoldenSetPasses") continue;
    const std::string text = fmt::format("  Runs again every {}: {}.\n",
                                         api::RoughDuration(model.spec.validation.golden_every), condition.message);
    if (condition.reason == "Overdue")
      return text +
             fmt::format("  A busy node runs it only in idle slots. `longshore validate {}` shows what the nodes do.\n",
                         target);
    if (condition.status != "False") return text;
    return text +
           fmt::format("  No weight changes by itself. `longshore undo {}` returns to the version before.\n", target);
  }
  return "";
}

std::string RolloutText(const api::Model& model, TimePoint now) {
  const api::RolloutStatus& rollout = model.status.rollout;
  if (rollout.phase == RolloutPhase::kNone) return "  There has been no rollout yet.\n";
  if (!IsUnderWay(rollout.phase)) {
    return fmt::format("  The last rollout, to version {}, is over: {}.\n", rollout.candidate,
                       RolloutPhaseName(rollout.phase));
  }
  std::string text = fmt::format("  {}, started {} ago (this step {} ago)\n", RolloutInShort(model),
                                 Age(rollout.started_at, now), Age(rollout.step_started_at, now));
  const std::string reason = WaitReason(model, now);
  if (!reason.empty()) text += "  " + reason + "\n";
  return text + NodeReportText(model.status);
}

std::string NumbersText(const api::Verdict& verdict) {
  if (verdict.result.empty()) return "  No verdict yet.\n";
  std::string text = "  " + verdict.result;
  if (!verdict.reason.empty()) text += " (" + verdict.reason + ")";
  if (!verdict.message.empty()) text += ": " + verdict.message;
  text += "\n";
  if (verdict.numbers.empty()) return text;
  Table table({"NUMBER", "VALUE"});
  for (const auto& [name, value] : verdict.numbers) table.Add({name, fmt::format("{:g}", value)});
  return text + table.Text(2);
}

// While the version that served before is warm.
std::string UndoText(const api::Model& model, const std::string& target, TimePoint now) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const Duration left = rollout.step_started_at + model.spec.rollout.keep_warm - now;
  const bool is_warm = rollout.phase == RolloutPhase::kCompleted && rollout.stable != 0 && left > Duration(0);
  if (!is_warm || rollout.undo_generation != 0) return "";
  return fmt::format("  longshore undo {}      return to version {} at once; it stays loaded for {}s more\n", target,
                     rollout.stable, left / std::chrono::seconds(1));
}

std::string CommandsText(const api::Model& model, const std::string& target, TimePoint now) {
  const auto phase = model.status.rollout.phase;
  std::string text;
  if (IsUnderWay(phase)) {
    const bool has_steps = model.spec.rollout.strategy == api::Strategy::kCanary;
    text += fmt::format(
        "  longshore promote {}   {}\n", target,
        IsWithoutWeight(phase) && !has_steps ? "give the version all requests now" : "go to the next step now");
    const bool by_command = model.status.rollout.paused_reason == "Command";
    if (by_command) text += "  longshore resume " + target + "    continue as the evidence allows\n";
    if (model.status.rollout.paused_reason.empty()) text += "  longshore pause " + target + "     keep this weight\n";
    const int64_t stable = model.status.rollout.stable;
    text += "  longshore abort " + target + "     " +
            (stable == 0 ? "end the rollout" : "move all traffic back to version " + std::to_string(stable)) + "\n";
  }
  text += UndoText(model, target, now);
  std::set<int64_t> wanted;
  for (const auto& [_, version] : model.spec.version_labels) wanted.insert(version);
  if (model.spec.version) wanted.insert(*model.spec.version);
  for (const int64_t version : wanted) {
    if (FailureOf(model.status, version) == nullptr) continue;
    text += "  longshore retry " + target + "     try version " + std::to_string(version) + " again\n";
  }
  return text;
}

}  // namespace

std::string WaitReason(const api::Model& model, TimePoint now) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const auto index = static_cast<size_t>(std::max(0, rollout.step_index));
  const auto& steps = model.spec.rollout.steps;
  if (!rollout.paused_reason.empty()) return PauseSentence(rollout.paused_reason);
  switch (rollout.phase) {
    case RolloutPhase::kValidating: return "The version is being loaded and checked in a rehearsal process.";
    case RolloutPhase::kLoading: return "The version is being loaded next to the one that serves.";
    case RolloutPhase::kShadow:
    case RolloutPhase::kPreview: return WaitInPhase(model, now);
    case RolloutPhase::kPromoting: return "The version is being loaded on all nodes that should hold it.";
    default: return index < steps.size() ? StepReason(model, steps[index], now) : "";
  }
}

std::string ExplainModel(const api::Model& model, TimePoint now) {
  std::string text =
      fmt::format("Model {}/{} on fleet {}\n", model.metadata.namespace_, model.metadata.name, model.spec.fleet);
  text += Section("Why this version", WhyThisVersion(model, now) + WhyNotTheWanted(model, now));
  text += Section("The rollout", RolloutText(model, now) +
                                     TextIfFalse(model.status, "NodesAvailable",
                                                 "  Nodes without a version that they should have: {0}\n") +
                                     TextIfFalse(model.status, "RulesApplied", "  But {0}\n"));
  text += Section("The numbers", NumbersText(model.status.rollout.verdict));
  const std::string pairs = PairsText(model.status.rollout) +
                            TextIfFalse(model.status, "PairsHaveRoom", "  Pairs have too little room ({1}): {0}\n");
  if (!pairs.empty()) text += Section("The pairs", pairs);
  const std::string outputs = OutputsText(model.status.rollout);
  if (!outputs.empty()) text += Section("The outputs", outputs);
  const std::string target = TargetOf(model.metadata);
  const std::string golden_set = GoldenSetText(model, target);
  if (!golden_set.empty()) text += Section("The golden set", golden_set);
  const std::string commands = CommandsText(model, target, now);
  if (!commands.empty()) text += Section("What you can do", commands);
  return text;
}

}  // namespace longshore::cli::text
