// The phases in which the candidate has weight.
#include <algorithm>

#include "controller/decide/rollout/bad_nodes.h"
#include "controller/decide/rollout/draft.h"
#include "controller/decide/rollout/phases.h"

namespace longshore::rollout {
namespace {

using api::RolloutPhase;

// Gives the candidate the weight of its step, and starts the time and request count of the step.
void ApplyWeight(Draft& draft, double weight_percent) {
  if (draft.rollout().weight_percent == 0) EndTimeWithoutWeight(draft);
  draft.rollout().weight_percent = weight_percent;
  BeginJudging(draft);
  draft.rollout().promoted_by_command = false;
  draft.Record("Step", fmt::format("version {} gets {:g}% of the requests", draft.rollout().candidate, weight_percent));
}

void NextStep(Draft& draft) {
  const bool last = draft.rollout().step_index + 1 >= static_cast<int>(draft.policy().steps.size());
  if (!last) ++draft.rollout().step_index;
  draft.SetPhase(last ? RolloutPhase::kPromoting : RolloutPhase::kStep);
  if (last)
    draft.Record("Promoting", fmt::format("version {} is being loaded on all nodes", draft.rollout().candidate));
}

std::string PauseReason(Draft& draft) {
  if (const std::string wanted = PauseWanted(draft); !wanted.empty()) return wanted;
  if (draft.rollout().verdict.result == "Fail") return "AnalysisFailed";
  if (draft.rollout().verdict.result == "Inconclusive" && !PromotesWithoutProof(draft)) return "Inconclusive";
  const auto& step = draft.policy().steps[static_cast<size_t>(draft.rollout().step_index)];
  return step.manual_pause ? "Manual" : "";
}

void SetPause(Draft& draft, const std::string& reason) {
  if (NotePause(draft, reason)) draft.rollout().phase = reason.empty() ? RolloutPhase::kStep : RolloutPhase::kPaused;
}

// Ends the step if its time is over and its verdict allows it.
void MaybeEndStep(Draft& draft) {
  const api::RolloutStatus& rollout = draft.rollout();
  if (rollout.phase != RolloutPhase::kStep || !TimeIsOver(draft)) return;
  if (PromotesWithoutProof(draft)) {
    draft.Record("PromotedWithoutProof", rollout.verdict.message, true);
  } else if (rollout.verdict.result != "Pass") {
    return;
  }
  NextStep(draft);
}

// Gives the candidate the weight of its step once enough nodes can serve it.
void TakeWeight(Draft& draft) {
  const api::RolloutStatus& rollout = draft.rollout();
  const double weight = StepWeight(draft);
  // A pause prevents an increase of the weight, but not a decrease that the spec requires.
  if (const std::string wanted = PauseWanted(draft); weight > rollout.weight_percent && !wanted.empty()) {
    return SetPause(draft, wanted);
  }
  const bool was_paused = !rollout.paused_reason.empty();
  SetPause(draft, "");
  // The time of a pause does not count towards the progress deadline.
  if (was_paused) draft.rollout().step_started_at = draft.now();
  if (IsReadyOn(draft, draft.NodesFor(weight))) return ApplyWeight(draft, weight);
  CheckDeadline(draft, "nodes to take more weight");
}

// Whether evidence collected during the promotion would have kept the last step from ending. False if a user ended that
// step.
bool IsDoubted(Draft& draft) {
  const api::Verdict& verdict = draft.rollout().verdict;
  if (draft.rollout().promoted_by_command) return false;
  if (verdict.result == "Fail") SetPause(draft, "AnalysisFailed");
  return verdict.result == "Fail" || verdict.reason == "LatencyBaseline";
}

}  // namespace

double StepWeight(Draft& draft) {
  const auto& steps = draft.policy().steps;
  if (steps.empty()) return 100;
  // The spec may have fewer steps now.
  draft.rollout().step_index = std::clamp(draft.rollout().step_index, 0, static_cast<int>(steps.size()) - 1);
  return steps[static_cast<size_t>(draft.rollout().step_index)].weight_percent;
}

bool SkipsSteps(const Draft& draft, const api::RolloutStatus& rollout) {
  const api::Rollout& policy = draft.policy();
  const bool has_no_steps = policy.strategy == api::Strategy::kImmediate ||
                            (policy.strategy == api::Strategy::kCanary && policy.steps.empty());
  return rollout.stable == 0 || has_no_steps || IsUndo(draft);
}

bool CarriesWeight(const api::RolloutStatus& rollout) {
  return IsUnderWay(rollout.phase) && rollout.weight_percent > 0;
}

bool LostItsNodes(Draft& draft) {
  const int64_t candidate = draft.rollout().candidate;
  const int ready = draft.ReadyNodes(candidate) + static_cast<int>(draft.ReadyOnDeparting(candidate).size());
  const double weight = IsWithoutWeight(draft.rollout().phase) ? StepWeight(draft) : draft.rollout().weight_percent;
  const int needed = draft.NodesForNow(weight);
  if (weight == 0 || (ready > 0 && ready * 2 >= needed)) return false;
  draft.rollout().weight_percent = 0;
  draft.SetPhase(RolloutPhase::kLoading);
  draft.Record(
      "NodesLost",
      fmt::format("version {} is ready on {} of the {} nodes that it needs", draft.rollout().candidate, ready, needed),
      true);
  return true;
}

void RunStep(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  const bool skips_steps = SkipsSteps(draft, rollout);
  if (!skips_steps && FailedByEvidence(draft)) return;
  if (LostItsNodes(draft)) return;
  if (skips_steps) return draft.SetPhase(RolloutPhase::kLoading);
  if (PhaseWithoutWeight(draft)) {
    draft.SetPhase(RolloutPhase::kLoading);
    return Load(draft);
  }
  if (rollout.weight_percent != StepWeight(draft)) return TakeWeight(draft);
  if (FailedWithoutProof(draft)) return;
  SetPause(draft, PauseReason(draft));
  MaybeEndStep(draft);
  if (rollout.phase == RolloutPhase::kPromoting) return FinishPromotion(draft);
  if (rollout.weight_percent != StepWeight(draft)) TakeWeight(draft);
}

std::string PauseWanted(Draft& draft) {
  if (draft.policy().paused) return "Spec";
  return draft.rollout().paused_by_command ? "Command" : "";
}

bool NotePause(Draft& draft, const std::string& reason) {
  api::RolloutStatus& rollout = draft.rollout();
  if (reason == rollout.paused_reason) return false;
  rollout.paused_reason = reason;
  draft.Record(reason.empty() ? "Resumed" : "Paused",
               fmt::format("at {:g}%{}{}", rollout.weight_percent, reason.empty() ? "" : ": ", reason));
  return true;
}

bool IsHeld(Draft& draft) {
  const std::string wanted = PauseWanted(draft);
  // The time of a pause does not count towards the progress deadline.
  if (NotePause(draft, wanted) && wanted.empty()) draft.rollout().step_started_at = draft.now();
  return !wanted.empty();
}

void FinishPromotion(Draft& draft) {
  if (FailedByEvidence(draft) || LostItsNodes(draft) || IsHeld(draft) || IsDoubted(draft)) return;
  if (IsReadyOn(draft, draft.StableNodes())) return Promote(draft);
  CheckDeadline(draft, "all nodes to be ready");
}

}  // namespace longshore::rollout
