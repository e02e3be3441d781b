#include "controller/cli/text/explain.h"

#include <algorithm>

#include "controller/api/sentences.h"
#include "controller/api/units.h"
#include "controller/cli/text/compared.h"
#include "controller/cli/text/offers.h"
#include "controller/cli/text/shadow.h"
#include "controller/cli/text/text.h"
#include "controller/decide/rollout/warm.h"

namespace longshore::cli::text {
namespace {

using api::RolloutPhase;

std::string Line(const std::string& sentence) { return sentence.empty() ? "" : "  " + sentence + "\n"; }

const api::FailedVersion* FailureOf(const api::Model& model, int64_t version) {
  const auto& failed = model.status.failed;
  const auto found = std::ranges::find_if(failed.rbegin(), failed.rend(), [&](const api::FailedVersion& one) {
    return one.version == version && one.generation == model.metadata.generation;
  });
  return found == failed.rend() ? nullptr : &*found;
}

// Whether a rollout of this version is under way.
bool IsRolledOut(const api::Model& model, int64_t version) {
  const api::RolloutStatus& rollout = model.status.rollout;
  return rollout.candidate == version && IsUnderWay(rollout.phase);
}

std::string FailureText(const api::Model& model, const api::FailedVersion& failed, const std::string& place,
                        TimePoint now) {
  const std::string ago = Age(failed.at, now) + " ago";
  // Why the last rollout failed is in its verdict.
  const api::RolloutStatus& rollout = model.status.rollout;
  const bool has_verdict = rollout.candidate == failed.version && rollout.verdict.reason == failed.reason;
  const std::string what =
      api::IsByAPerson(failed.reason)
          ? fmt::format("A person {} version {} {}.", failed.reason == "Undone" ? "undid" : "aborted the rollout of",
                        failed.version, ago)
          : fmt::format("Version {} failed {} ({}): {}", failed.version, ago, failed.reason,
                        has_verdict ? "see the verdict below." : failed.message);
  const char* memory = failed.reason == "NotEnoughMemory"
                           ? "one of these nodes has enough memory (unload other versions or Models, or give the nodes "
                             "more), when "
                           : "";
  const std::string retry =
      IsAccepted(model, "retry") ? fmt::format(", or after `{}`", CommandLine("retry", model.metadata, place)) : "";
  return Line(what) +
         Line(fmt::format("It is tried again when {}{}{}.", memory, api::ChangesToTryAgain(failed), retry));
}

std::string AskedText(const api::Model& model, const std::string& place, TimePoint now) {
  const int64_t wanted = model.spec.version.value_or(model.status.rollout.candidate);
  std::string text = model.spec.version ? Line(fmt::format("Version {}.", wanted))
                                        : Line("The newest version that the nodes find: the manifest names none.");
  if (model.status.observed_generation < model.metadata.generation)
    return text + Line("The controller has not processed this manifest yet. Is longshore-controller running?") +
           (model.status.observed_generation > 0
                ? ""
                : Line(fmt::format("On a cluster, does it watch the namespace {} (watchNamespaces)?",
                                   model.metadata.namespace_)));
  const api::FailedVersion* failed = FailureOf(model, wanted);
  if (failed == nullptr || IsRolledOut(model, wanted)) return text;
  return text + FailureText(model, *failed, place, now);
}

const api::Condition* Find(const api::ModelStatus& status, std::string_view type) {
  const auto found = std::ranges::find(status.conditions, type, &api::Condition::type);
  return found == status.conditions.end() ? nullptr : &*found;
}

// "version 2 is ready" -> "Version 2 is ready."
std::string CapitalizedSentence(std::string text) {
  if (text.empty()) return text;
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text.ends_with('.') ? text : text + ".";
}

std::string ServesText(const api::Model& model, TimePoint now) {
  const api::ModelStatus& status = model.status;
  const api::Condition* ready = Find(status, "Ready");
  const std::string readiness = ready == nullptr ? "" : Line(CapitalizedSentence(ready->message));
  // Why a first version is not loaded is said where the rollout or the failed version is explained.
  if (status.stable_version == 0)
    return Line("No version serves yet.") + (ready != nullptr && ready->reason == "NotLoaded" ? "" : readiness);
  const double weight = IsUnderWay(status.rollout.phase) ? status.rollout.weight_percent : 0;
  const char* gets = ready != nullptr && ready->status == "False" ? "is to get" : "gets";
  std::string text =
      Line(weight == 0 ? fmt::format("Version {} {} all requests.", status.stable_version, gets)
                       : fmt::format("Version {} {} {} of the requests, and version {} {} {}.", status.stable_version,
                                     gets, Percent(100 - weight), status.rollout.candidate, gets, Percent(weight))) +
      readiness;
  if (const api::HistoryEntry* began = rollout::BeganToServe(status))
    text += Line(fmt::format("It began to serve {} ago ({}): {}", Age(began->at, now), began->what, began->message));
  return text;
}

// Whether the manifest says that the present step waits for a person.
bool WaitsForPromote(const api::Model& model) {
  const auto index = static_cast<size_t>(std::max(0, model.status.rollout.step_index));
  const std::vector<api::Step>& steps = model.spec.rollout.steps;
  return !IsWithoutWeight(model.status.rollout.phase) && index < steps.size() && steps[index].manual_pause;
}

// Returns the sentence that explains a value of RolloutStatus::paused_reason.
std::string PauseSentence(const std::string& reason, bool waits_for_promote) {
  if (reason == "Manual") return "The step waits for `longshore promote`.";
  if (reason == "Command") return "The rollout is paused by a command.";
  if (reason == "Spec") return "The rollout is paused by the manifest: spec.rollout.paused.";
  if (reason == "ShadowPassed")
    return "The pairs have shown what they must. `longshore promote` gives the version all requests.";
  if (reason == "Preview") return "`longshore promote` gives the version all requests.";
  if (reason == "AnalysisFailed") return "The analysis failed, and the manifest says onFailure: Pause.";
  if (reason == "Inconclusive") {
    return fmt::format(
        "No test failed, but the step's proof or requests are still missing after its patience. The step ends {}by "
        "`longshore promote` or `longshore abort`.",
        waits_for_promote ? "" : "when they are there, or ");
  }
  return "The rollout is paused: " + reason;
}

std::string StepReason(const api::Model& model, const api::Step& step, TimePoint now) {
  const api::RolloutStatus& rollout = model.status.rollout;
  if (rollout.weight_percent != step.weight_percent) {
    return fmt::format("The step to {} waits until enough nodes hold the version.", Percent(step.weight_percent));
  }
  const Duration left = step.hold.value_or(model.spec.rollout.hold) - (now - rollout.step_started_at);
  if (left <= Duration(0)) return "The step lasts until its verdict is Pass.";
  return fmt::format("The step lasts at least {} more.",
                     api::RoughDuration(std::max(left, Duration(std::chrono::seconds(1)))));
}

// What happens in the phase, for a phase in which nodes load the candidate.
std::string LoadingSentence(const api::Model& model) {
  switch (model.status.rollout.phase) {
    case RolloutPhase::kValidating:
      return fmt::format(
          "A node loads the version in a separate process (the rehearsal){}. It gets no requests yet.",
          model.spec.validation.golden_set.empty() ? " and warms it up" : ", warms it up and runs its golden set");
    case RolloutPhase::kLoading: return "Nodes load the version next to the one that serves.";
    default: return "All nodes that should hold the version load it.";
  }
}

// Whether the present phase, or the weight of the present step, is still awaited by the progress deadline.
bool HasDeadline(const api::Model& model) {
  const api::RolloutStatus& rollout = model.status.rollout;
  if (!IsUnderWay(rollout.phase) || !rollout.paused_reason.empty() || IsWithoutWeight(rollout.phase)) return false;
  if (rollout.phase != RolloutPhase::kStep) return true;
  const auto index = static_cast<size_t>(std::max(0, rollout.step_index));
  const auto& steps = model.spec.rollout.steps;
  return index < steps.size() && steps[index].weight_percent != rollout.weight_percent;
}

// What the deadline does if the nodes are not ready by then.
std::string AfterDeadline(const api::Model& model) {
  const api::MaxUnavailable& most = model.spec.rollout.max_unavailable;
  const api::RolloutStatus& rollout = model.status.rollout;
  const bool needs_all = rollout.phase == RolloutPhase::kValidating || rollout.stable == 0 || most.value == 0;
  if (needs_all) return "it ends";
  return fmt::format(
      "it goes on without the nodes that are not ready, if these are at most {}{} (maxUnavailable), or ends",
      most.value,
      most.is_percent   ? " % of the nodes"
      : most.value == 1 ? " node"
                        : " nodes");
}

// Says when the rollout ends if what the nodes report is not resolved. Returns "" if they report nothing, or if the
// phase has no deadline.
std::string DeadlineSentence(const api::Model& model, TimePoint now) {
  const api::Condition* ready = Find(model.status, "Ready");
  const bool awaits_nodes = ready != nullptr && ready->reason == "NoNodes";  // The deadline does not count meanwhile.
  if (CauseOf(model).empty() || awaits_nodes || !HasDeadline(model)) return "";
  const Duration deadline = model.spec.rollout.progress_deadline;
  const Duration left = model.status.rollout.step_started_at + deadline - now;
  return fmt::format("The rollout goes on when this is resolved; otherwise, in {} (progressDeadline is {}), {}.",
                     api::RoughDuration(std::max(left, Duration(std::chrono::seconds(1)))),
                     api::FormatDuration(deadline), AfterDeadline(model));
}

std::string PhaseSentence(const api::Model& model, TimePoint now) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const auto index = static_cast<size_t>(std::max(0, rollout.step_index));
  const auto& steps = model.spec.rollout.steps;
  const std::string tried = HowToTry(rollout, model.spec.rollout.preview);
  if (!rollout.paused_reason.empty()) {
    const std::string warning = rollout.paused_reason == "ShadowPassed" ? DriftWarning(model) : "";
    return tried + PauseSentence(rollout.paused_reason, WaitsForPromote(model)) +
           (warning.empty() ? "" : " " + warning);
  }
  switch (rollout.phase) {
    case RolloutPhase::kValidating:
    case RolloutPhase::kLoading:
    case RolloutPhase::kPromoting: return LoadingSentence(model);
    case RolloutPhase::kShadow:
    case RolloutPhase::kPreview: return tried + WaitInPhase(model, now);
    default: return index < steps.size() ? StepReason(model, steps[index], now) : "";
  }
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
std::string GoldenSetText(const api::Model& model, const std::string& place) {
  const api::Condition* condition = Find(model.status, "GoldenSetPasses");
  if (condition == nullptr) return "";
  const std::string text = Line(fmt::format(
      "Runs again every {}: {}.", api::RoughDuration(model.spec.validation.golden_every), condition->message));
  if (condition->reason == "Overdue")
    return text + Line(fmt::format("A busy node runs it only in idle slots. `{}` shows what the nodes do.",
                                   CommandLine("validate", model.metadata, place)));
  if (condition->status != "False") return text;
  std::string remedy = "No weight changes by itself.";
  if (IsAccepted(model, "undo"))
    remedy += fmt::format(" `{}` returns to the version before.", CommandLine("undo", model.metadata, place));
  return text + Line(remedy);
}

// "2 -> 3, step 2 of 3 at 25 %" in words.
std::string WhereText(const api::Model& model, TimePoint now) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const std::string time = Age(rollout.step_started_at, now);
  const bool in_step = rollout.phase == RolloutPhase::kStep || rollout.phase == RolloutPhase::kPaused;
  if (!in_step) return fmt::format("It has been in the phase {} for {}.", RolloutPhaseName(rollout.phase), time);
  return fmt::format("It has been in step {} of {} for {}: version {} gets {} of the requests.", rollout.step_index + 1,
                     model.spec.rollout.steps.size(), time, rollout.candidate, Percent(rollout.weight_percent));
}

std::string EndedText(const api::RolloutStatus& rollout, TimePoint now) {
  const std::string ago = Age(rollout.step_started_at, now) + " ago";
  if (rollout.verdict.reason == "Undone")
    return Line(
        fmt::format("Version {} was undone {}; version {} replaced it.", rollout.candidate, ago, rollout.stable));
  if (rollout.phase == RolloutPhase::kRolledBack)
    return Line(fmt::format("The rollout of version {} ended {}: it was rolled back.", rollout.candidate, ago));
  if (rollout.stable == 0) return Line(fmt::format("Version {} became the first version {}.", rollout.candidate, ago));
  return Line(fmt::format("Version {} replaced version {} {}.", rollout.candidate, rollout.stable, ago));
}

// The verdict of a rollout that has ended without one.
std::string NoVerdict(const api::RolloutStatus& rollout) {
  const std::string last =
      rollout.verdict.reason == "NotStarted"
          ? "nothing was compared"
          : fmt::format("the last one was {} ({})", rollout.verdict.result, rollout.verdict.reason);
  if (rollout.promoted_by_command)
    return fmt::format("No verdict: a person promoted version {} before; {}.", rollout.candidate, last);
  return fmt::format("No verdict: version {} got all requests without one; {}.", rollout.candidate, last);
}

}  // namespace

std::string Section(const std::string& title, const std::string& body) {
  return body.empty() ? "" : "\n" + title + "\n" + body;
}

std::string RolloutText(const api::Model& model, TimePoint now) {
  const api::RolloutStatus& rollout = model.status.rollout;
  if (rollout.phase == RolloutPhase::kNone) return Line("There has been no rollout yet.");
  if (!IsUnderWay(rollout.phase)) return EndedText(rollout, now);
  const std::string cause = CauseOf(model);
  const std::string what = rollout.stable == 0
                               ? fmt::format("Version {} is to become the first version.", rollout.candidate)
                               : fmt::format("Version {} is to replace version {}.", rollout.candidate, rollout.stable);
  return Line(fmt::format("{} The rollout began {} ago.", what, Age(rollout.started_at, now))) +
         Line(WhereText(model, now)) + Line(PhaseSentence(model, now)) +
         (cause.empty() ? "" : Line("But " + cause + ".")) + Line(DeadlineSentence(model, now));
}

std::string VerdictText(const api::Model& model) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const api::Verdict& verdict = rollout.verdict;
  const bool is_compared = !verdict.result.empty() && verdict.reason != "NotStarted";
  if (rollout.stable == 0 && rollout.phase != RolloutPhase::kNone && !is_compared)
    return Line("A first version is compared with no other one, so it has no verdict.");
  if (verdict.result.empty()) return "";
  if (rollout.phase == RolloutPhase::kCompleted && verdict.result != "Pass") return Line(NoVerdict(rollout));
  if (verdict.reason == "NotStarted")
    return Line(fmt::format("No verdict yet: version {} has had no requests.", rollout.candidate));
  if (api::IsByAPerson(verdict.reason))
    return Line(fmt::format("No verdict: version {} was {} by command.", rollout.candidate,
                            verdict.reason == "Undone" ? "undone" : "aborted"));
  std::string text = verdict.result;
  if (!verdict.reason.empty()) text += " (" + verdict.reason + ")";
  if (!verdict.message.empty()) text += ": " + verdict.message;
  return Line(text) + OutlookText(model);
}

std::string DatedVerdictText(const api::Model& model, TimePoint now) {
  const std::string age = AgeOfNumbers(model, now);
  return VerdictText(model) + Line(age.empty() ? "" : fmt::format("The numbers were last updated {} ago.", age));
}

std::string WaitReason(const api::Model& model, TimePoint now) {
  const std::string deadline = DeadlineSentence(model, now);
  return deadline.empty() ? PhaseSentence(model, now) : deadline;
}

std::string ExplainModel(const api::Model& model, TimePoint now, const std::string& place,
                         const std::string& worst_pairs) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const std::string compared = ComparedText(model);
  std::string text =
      fmt::format("Model {}/{} on fleet {}\n", model.metadata.namespace_, model.metadata.name, model.spec.fleet);
  text += Section("What the manifest asks for",
                  AskedText(model, place, now) +
                      TextIfFalse(model.status, "SourceReady", "  The source is not ready ({1}): {0}\n"));
  text += Section("What serves", ServesText(model, now) +
                                     TextIfFalse(model.status, "NodesAvailable",
                                                 "  Nodes without a version that they should have: {0}\n") +
                                     TextIfFalse(model.status, "RulesApplied", "  But {0}\n"));
  text += Section("The rollout", RolloutText(model, now));
  text += Section("What was compared", compared);
  // What an undo has left was compared when it was rolled out, not now.
  if (IsUnderWay(rollout.phase) || !compared.empty())
    text += Section("The pairs",
                    PairsText(rollout) + worst_pairs +
                        TextIfFalse(model.status, "PairsHaveRoom", "  Pairs have too little room ({1}): {0}\n")) +
            Section("The outputs", OutputsText(rollout));
  text += Section("The verdict", DatedVerdictText(model, now));
  text += Section("The golden set", GoldenSetText(model, place));
  text += Section("What you can do now", OffersText(model, place, now));
  return text;
}

}  // namespace longshore::cli::text
