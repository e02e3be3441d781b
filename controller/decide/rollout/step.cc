// The phases in which the candidate has weight, and the evidence that decides about them.
#include <algorithm>
#include <cmath>
#include <set>

#include "controller/decide/rollout/bad_nodes.h"
#include "controller/decide/rollout/draft.h"
#include "controller/decide/rollout/phases.h"

namespace longshore::rollout {
namespace {

using api::RolloutPhase;

analysis::Analysis AnalysisOf(Draft& draft) {
  const auto stored = analysis::FromJson(draft.rollout().analysis);
  // Unreadable evidence is discarded: the analysis starts again.
  const bool usable = stored && !draft.rollout().analysis.is_null();
  return usable ? *stored : analysis::Begin(draft.spec(), draft.observed().stable_past);
}

Duration HoldOf(Draft& draft) {
  return draft.policy().steps[static_cast<size_t>(draft.rollout().step_index)].hold.value_or(draft.policy().hold);
}

bool HoldIsOver(Draft& draft) { return draft.now() - draft.rollout().step_started_at >= HoldOf(draft); }

analysis::StepFacts FactsOf(Draft& draft, const analysis::Analysis& analysis) {
  const api::RolloutStatus& rollout = draft.rollout();
  const api::Rollout& policy = draft.policy();
  // A rollout that has no steps any more is not judged by them.
  const api::Proof proof =
      policy.steps.empty() ? api::Proof::kNone : api::ProofOf(policy, static_cast<size_t>(rollout.step_index));
  return {proof, analysis::CandidateRequests(analysis, draft.policy()) - rollout.step_candidate_requests,
          draft.now() - rollout.step_started_at};
}

// The windows are added to the analysis once a second, or earlier if this completes a step. Both conditions depend only
// on time and on numbers of requests, not on their results, because the sequential test requires this. Non-finite
// answers are certain failures and are used at once.
bool IsTimeForEvidence(Draft& draft, const analysis::Analysis& analysis) {
  const analysis::WindowEvidence window = analysis::Sum(draft.observed().windows);
  const bool is_empty = window.candidate.requests == 0 && window.candidate.overloaded == 0 &&
                        window.candidate.pairs.pairs == 0 && window.stable.requests == 0;
  if (is_empty) return false;
  if (window.candidate.non_finite > 0) return true;
  if (draft.now() - draft.rollout().evidence_used_at >= kEvidenceInterval) return true;
  const int64_t more = analysis::RequestsOf(window.candidate, draft.policy());
  const int64_t in_step =
      analysis::CandidateRequests(analysis, draft.policy()) + more - draft.rollout().step_candidate_requests;
  return more > 0 && in_step >= draft.policy().requests_min && !draft.policy().steps.empty() &&
         draft.rollout().verdict.result == "Undecided" && HoldIsOver(draft);
}

// Makes a LatencyBaseline verdict inconclusive that has lasted longer than the progress deadline. It is not a failure,
// because a slow period of the machine looks the same as a candidate that slows down both itself and stable.
void LimitHold(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  if (rollout.verdict.reason != "LatencyBaseline") {
    rollout.held_since = {};
    return;
  }
  if (rollout.held_since == TimePoint{}) rollout.held_since = draft.now();
  const Duration held = draft.now() - rollout.held_since;
  if (held <= draft.policy().progress_deadline) return;
  rollout.verdict.result = "Inconclusive";
  rollout.verdict.message += fmt::format("; this has lasted for {} s", held.count() / 1000000);
}

// Gives the candidate the weight of its step, and starts the time and request count of the step.
void ApplyWeight(Draft& draft, double weight_percent) {
  api::RolloutStatus& rollout = draft.rollout();
  const bool first = rollout.analysis.is_null();
  const analysis::Analysis analysis = AnalysisOf(draft);
  rollout.analysis = analysis::ToJson(analysis);
  if (first) rollout.evidence_used_at = draft.now();
  rollout.weight_percent = weight_percent;
  rollout.step_started_at = draft.now();
  rollout.step_candidate_requests = analysis::CandidateRequests(analysis, draft.policy());
  rollout.verdict = analysis::Judge(analysis, draft.spec(), FactsOf(draft, analysis));
  rollout.promoted_by_command = false;
  draft.Record("Step", fmt::format("version {} gets {:g}% of the requests", rollout.candidate, weight_percent));
}

void NextStep(Draft& draft) {
  const bool last = draft.rollout().step_index + 1 >= static_cast<int>(draft.policy().steps.size());
  if (!last) ++draft.rollout().step_index;
  draft.SetPhase(last ? RolloutPhase::kPromoting : RolloutPhase::kStep);
  if (last)
    draft.Record("Promoting", fmt::format("version {} is being loaded on all nodes", draft.rollout().candidate));
}

// Why the user wants the rollout to pause, in any phase; "" if the user does not want that.
std::string PauseWanted(Draft& draft) {
  if (draft.policy().paused) return "Spec";
  return draft.rollout().paused_by_command ? "Command" : "";
}

// Whether the spec wants the rollout to go on after its inconclusive verdict. A candidate that may be why the objective
// is missed never goes on without a person.
bool PromotesWithoutProof(Draft& draft) {
  const api::Verdict& verdict = draft.rollout().verdict;
  return verdict.result == "Inconclusive" && verdict.reason != "LatencyBaseline" &&
         draft.policy().on_inconclusive == api::OnInconclusive::kPromote;
}

std::string PauseReason(Draft& draft) {
  if (const std::string wanted = PauseWanted(draft); !wanted.empty()) return wanted;
  if (draft.rollout().verdict.result == "Fail") return "AnalysisFailed";
  if (draft.rollout().verdict.result == "Inconclusive" && !PromotesWithoutProof(draft)) return "Inconclusive";
  const auto& step = draft.policy().steps[static_cast<size_t>(draft.rollout().step_index)];
  return step.manual_pause ? "Manual" : "";
}

// Stores the reason of the pause ("": no pause); returns true if it changed.
bool NotePause(Draft& draft, const std::string& reason) {
  api::RolloutStatus& rollout = draft.rollout();
  if (reason == rollout.paused_reason) return false;
  rollout.paused_reason = reason;
  draft.Record(reason.empty() ? "Resumed" : "Paused",
               fmt::format("at {:g}%{}{}", rollout.weight_percent, reason.empty() ? "" : ": ", reason));
  return true;
}

void SetPause(Draft& draft, const std::string& reason) {
  if (NotePause(draft, reason)) draft.rollout().phase = reason.empty() ? RolloutPhase::kStep : RolloutPhase::kPaused;
}

// Rolls back if the verdict requires it; returns true if it did.
bool FailedByEvidence(Draft& draft) {
  const api::Verdict verdict = draft.rollout().verdict;
  if (verdict.result != "Fail") return false;
  const bool certain = verdict.reason == "NonFinite";
  if (draft.policy().on_failure == api::OnFailure::kPause && !certain) return false;
  draft.RollBack(verdict.reason, verdict.message, true);
  return true;
}

// Rolls back if the verdict is inconclusive and the spec requires it then; returns true if it did.
bool FailedWithoutProof(Draft& draft) {
  const api::Verdict verdict = draft.rollout().verdict;
  if (verdict.result != "Inconclusive" || draft.policy().on_inconclusive != api::OnInconclusive::kRollback)
    return false;
  draft.RollBack("Inconclusive", verdict.message, true);
  return true;
}

// Ends the step if its time is over and its verdict allows it.
void MaybeEndStep(Draft& draft) {
  const api::RolloutStatus& rollout = draft.rollout();
  if (rollout.phase != RolloutPhase::kStep || !HoldIsOver(draft)) return;
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

// Applies a change of the tolerances in the spec, and records it.
void FollowTolerances(Draft& draft, analysis::Analysis& analysis) {
  if (!analysis::ApplyTolerances(draft.policy(), analysis)) return;
  const api::Rollout& policy = draft.policy();
  draft.Record(
      "TolerancesChanged",
      fmt::format("from now on an error rate up to {:g} percentage points or {:g} % above stable's is tolerated, "
                  "and a run time up to {:g} % above",
                  100 * policy.error_rate.tolerance, 100 * policy.error_rate.relative_tolerance,
                  100 * policy.latency.tolerance));
}

void ForgetDepartedNodes(Draft& draft, analysis::Analysis& analysis) {
  if (analysis.slo_missed.empty()) return;
  std::set<std::string> present;
  for (const NodeSeen& node : draft.observed().nodes) present.insert(node.name);
  analysis::ForgetDeparted(present, analysis);
}

// Whether the patience of the step has ended since the verdict. It ends without any evidence, too.
bool PatienceEnded(Draft& draft) {
  const api::RolloutStatus& rollout = draft.rollout();
  const bool waits = rollout.verdict.reason == "NotProven" || rollout.verdict.reason == "TooFewRequests";
  return waits && rollout.verdict.result == "Undecided" &&
         draft.now() - rollout.step_started_at >= draft.policy().patience;
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
  return rollout.stable == 0 || draft.policy().strategy == api::Strategy::kImmediate || draft.policy().steps.empty() ||
         IsUndo(draft);
}

bool CarriesWeight(const api::RolloutStatus& rollout) {
  return IsUnderWay(rollout.phase) && rollout.weight_percent > 0;
}

bool UseEvidence(Draft& draft) {
  if (!CarriesWeight(draft.rollout())) return false;
  StepWeight(draft);
  analysis::Analysis analysis = AnalysisOf(draft);
  const bool is_time = IsTimeForEvidence(draft, analysis);
  if (!is_time && !PatienceEnded(draft)) return false;
  FollowTolerances(draft, analysis);
  ForgetDepartedNodes(draft, analysis);
  if (is_time) {
    const api::RolloutStatus& rollout = draft.rollout();
    analysis.bins.Follow({rollout.id, static_cast<int>(std::lround(100 * rollout.weight_percent))});
    for (const auto& [node, window] : draft.observed().windows) {
      analysis = analysis::Update(std::move(analysis), node, window);
    }
    draft.rollout().evidence_used_at = draft.now();
  }
  draft.rollout().analysis = analysis::ToJson(analysis);
  draft.rollout().verdict = analysis::Judge(analysis, draft.spec(), FactsOf(draft, analysis));
  LimitHold(draft);
  return is_time;
}

bool LostItsNodes(Draft& draft) {
  const int64_t candidate = draft.rollout().candidate;
  const int ready = draft.ReadyNodes(candidate) + static_cast<int>(draft.ReadyOnDeparting(candidate).size());
  const int needed = draft.NodesForNow(draft.rollout().weight_percent);
  if (draft.rollout().weight_percent == 0 || (ready > 0 && ready * 2 >= needed)) return false;
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
  if (rollout.weight_percent != StepWeight(draft)) return TakeWeight(draft);
  if (FailedWithoutProof(draft)) return;
  SetPause(draft, PauseReason(draft));
  MaybeEndStep(draft);
  if (rollout.phase == RolloutPhase::kPromoting) return FinishPromotion(draft);
  if (rollout.weight_percent != StepWeight(draft)) TakeWeight(draft);
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
