// The evidence about the candidate, and what follows from it in every phase.
#include <algorithm>
#include <cmath>
#include <set>

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

// What the present step or phase counts: requests, or pairs if the candidate has no weight.
int64_t CountOf(Draft& draft, const analysis::Analysis& analysis) {
  return IsWithoutWeight(draft.rollout().phase) ? analysis.candidate.pairs.pairs
                                                : analysis::CandidateRequests(analysis, draft.policy());
}

int64_t CountIn(Draft& draft, const analysis::WindowEvidence& window) {
  return IsWithoutWeight(draft.rollout().phase) ? window.candidate.pairs.pairs
                                                : analysis::RequestsOf(window.candidate, draft.policy());
}

analysis::StepFacts FactsOf(Draft& draft, const analysis::Analysis& analysis) {
  const api::RolloutStatus& rollout = draft.rollout();
  return {RequiredProof(draft), CountOf(draft, analysis) - rollout.step_candidate_requests,
          draft.now() - rollout.step_started_at, IsWithoutWeight(rollout.phase)};
}

// The windows are added to the analysis once a second, or earlier if this completes a step. Both conditions depend only
// on time and on numbers of requests, not on their results, because the sequential test requires this. Non-finite
// answers, and outputs of pairs that cannot be compared, are certain failures and are used at once.
bool IsTimeForEvidence(Draft& draft, const analysis::Analysis& analysis) {
  const analysis::WindowEvidence window = analysis::Sum(draft.observed().windows);
  const bool is_empty = window.candidate.requests == 0 && window.candidate.overloaded == 0 &&
                        window.candidate.pairs.pairs == 0 && window.stable.requests == 0;
  if (is_empty) return false;
  const bool is_mismatched = draft.policy().shadow && window.candidate.pairs.mismatched > 0;
  if (window.candidate.non_finite > 0 || is_mismatched) return true;
  if (draft.now() - draft.rollout().evidence_used_at >= kEvidenceInterval) return true;
  const int64_t more = CountIn(draft, window);
  const int64_t in_step = CountOf(draft, analysis) + more - draft.rollout().step_candidate_requests;
  const bool is_judged = IsWithoutWeight(draft.rollout().phase) || !draft.policy().steps.empty();
  return more > 0 && in_step >= draft.policy().requests_min && is_judged &&
         draft.rollout().verdict.result == "Undecided" && TimeIsOver(draft);
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

// Applies a change of the output rules in the spec, and records it; returns true if there was one.
bool FollowOutputRules(Draft& draft, analysis::Analysis& analysis) {
  if (!analysis::ApplyOutputRules(draft.policy(), analysis)) return false;
  std::vector<std::string> rules;
  for (const analysis::OutputTest& test : analysis.outputs) rules.push_back(test.counts.rule);
  draft.Record("OutputRulesChanged",
               rules.empty() ? "from now on no outputs are compared"
                             : fmt::format("from now on outputs are compared by: {}", fmt::join(rules, "; ")));
  return true;
}

// Applies a change of the tolerances in the spec, and records it; returns true if there was one.
bool FollowTolerances(Draft& draft, analysis::Analysis& analysis) {
  if (!analysis::ApplyTolerances(draft.policy(), analysis)) return false;
  const api::Rollout& policy = draft.policy();
  draft.Record(
      "TolerancesChanged",
      fmt::format("from now on an error rate up to {:g} percentage points or {:g} % above stable's is tolerated, "
                  "and a run time up to {:g} % above",
                  100 * policy.error_rate.tolerance, 100 * policy.error_rate.relative_tolerance,
                  100 * policy.latency.tolerance));
  return true;
}

void ForgetDepartedNodes(Draft& draft, analysis::Analysis& analysis) {
  if (analysis.slo_missed.empty()) return;
  std::set<std::string> present;
  for (const NodeSeen& node : draft.observed().nodes) present.insert(node.name);
  analysis::ForgetDeparted(present, analysis);
}

// While a candidate waits after its pairs have shown what they must, the verdict stays, unless a test fails.
bool KeepsVerdict(const Draft& draft) {
  const api::RolloutStatus& rollout = draft.status().rollout;
  return IsWithoutWeight(rollout.phase) && rollout.shadow_done;
}

// Whether the patience of the step has ended since the verdict. It ends without any evidence, too.
bool PatienceEnded(Draft& draft) {
  const api::RolloutStatus& rollout = draft.rollout();
  const bool waits = rollout.verdict.reason == "NotProven" || rollout.verdict.reason == "TooFewRequests";
  return waits && rollout.verdict.result == "Undecided" && !KeepsVerdict(draft) &&
         draft.now() - rollout.step_started_at >= draft.policy().patience;
}

// Whether the spec has changed since the verdict. A candidate without weight is judged again at once, because an old
// verdict might end the phase.
bool RequirementsMayDiffer(const Draft& draft) {
  return IsWithoutWeight(draft.status().rollout.phase) && draft.status().observed_generation != draft.generation();
}

void SetVerdict(Draft& draft, api::Verdict verdict) {
  const bool stays = KeepsVerdict(draft) && verdict.result != "Fail";
  if (!stays) draft.rollout().verdict = std::move(verdict);
}

// Requires that the pairs show again what they must, because the spec has changed. A person who has promoted the
// candidate requires no more.
void ForgetShown(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  if (IsWithoutWeight(rollout.phase) && !rollout.promoted_by_command) rollout.shadow_done = false;
}

}  // namespace

bool GathersEvidence(const Draft& draft) {
  const api::RolloutStatus& rollout = draft.status().rollout;
  return CarriesWeight(rollout) || (IsWithoutWeight(rollout.phase) && draft.policy().shadow);
}

api::Proof RequiredProof(const Draft& draft) {
  const api::RolloutStatus& rollout = draft.status().rollout;
  const api::Rollout& policy = draft.policy();
  if (IsWithoutWeight(rollout.phase)) return api::ProofOfShadow(policy);
  // A rollout that has no steps any more is not judged by them.
  return policy.steps.empty() ? api::Proof::kNone : api::ProofOf(policy, static_cast<size_t>(rollout.step_index));
}

bool TimeIsOver(Draft& draft) {
  const api::RolloutStatus& rollout = draft.rollout();
  const api::Rollout& policy = draft.policy();
  Duration hold = policy.shadow ? policy.shadow->hold : Duration(0);
  if (!IsWithoutWeight(rollout.phase)) {
    hold = policy.steps[static_cast<size_t>(rollout.step_index)].hold.value_or(policy.hold);
  }
  return draft.now() - rollout.step_started_at >= hold;
}

void EndTimeWithoutWeight(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  if (rollout.analysis.is_null()) return;
  analysis::Analysis analysis = AnalysisOf(draft);
  analysis::EndWindowsWithoutCandidate(analysis);
  const api::BinEvidence& past = draft.observed().stable_past.bins;
  const bool is_first = analysis.candidate.requests == 0 && analysis.open.empty();
  if (is_first && past.salt == rollout.id) analysis.baseline.bins = past;
  rollout.analysis = analysis::ToJson(analysis);
}

void BeginJudging(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  const bool first = rollout.analysis.is_null();
  analysis::Analysis analysis = AnalysisOf(draft);
  analysis.drops_since_pair = {};
  rollout.analysis = analysis::ToJson(analysis);
  if (first) rollout.evidence_used_at = draft.now();
  rollout.step_started_at = draft.now();
  rollout.step_candidate_requests = CountOf(draft, analysis);
  SetVerdict(draft, analysis::Judge(analysis, draft.spec(), FactsOf(draft, analysis)));
}

bool UseEvidence(Draft& draft) {
  if (!GathersEvidence(draft)) return false;
  StepWeight(draft);
  analysis::Analysis analysis = AnalysisOf(draft);
  const bool is_time = IsTimeForEvidence(draft, analysis);
  if (!is_time && !PatienceEnded(draft) && !RequirementsMayDiffer(draft)) return false;
  const bool has_new_rules = FollowOutputRules(draft, analysis);
  const bool has_new_phase = analysis::ApplyPhaseRequirements(draft.policy(), analysis);
  const bool is_judged_anew = FollowTolerances(draft, analysis) || has_new_rules || has_new_phase;
  if (is_judged_anew) ForgetShown(draft);
  ForgetDepartedNodes(draft, analysis);
  if (is_time) {
    const api::RolloutStatus& rollout = draft.rollout();
    analysis.bins.Follow({rollout.id, static_cast<int>(std::lround(100 * rollout.weight_percent))});
    for (const auto& [node, window] : draft.observed().windows) {
      analysis = analysis::Update(std::move(analysis), node, window);
    }
    analysis::NoteDrops(draft.observed().windows, draft.now(), analysis);
    draft.rollout().evidence_used_at = draft.now();
  }
  draft.rollout().analysis = analysis::ToJson(analysis);
  SetVerdict(draft, analysis::Judge(analysis, draft.spec(), FactsOf(draft, analysis)));
  LimitHold(draft);
  return is_time;
}

bool PromotesWithoutProof(const Draft& draft) {
  const api::Verdict& verdict = draft.status().rollout.verdict;
  return verdict.result == "Inconclusive" && verdict.reason != "LatencyBaseline" &&
         draft.policy().on_inconclusive == api::OnInconclusive::kPromote;
}

bool FailedByEvidence(Draft& draft) {
  const api::Verdict verdict = draft.rollout().verdict;
  if (verdict.result != "Fail") return false;
  const bool certain = verdict.reason == "NonFinite" || verdict.reason == "OutputMismatch";
  if (draft.policy().on_failure == api::OnFailure::kPause && !certain) return false;
  draft.RollBack(verdict.reason, verdict.message, true);
  return true;
}

bool FailedWithoutProof(Draft& draft) {
  const api::Verdict verdict = draft.rollout().verdict;
  if (verdict.result != "Inconclusive" || draft.policy().on_inconclusive != api::OnInconclusive::kRollback)
    return false;
  draft.RollBack("Inconclusive", verdict.message, true);
  return true;
}

}  // namespace longshore::rollout
