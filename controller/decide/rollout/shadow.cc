// The phases in which the candidate is ready but has no weight: Shadow and Preview.
#include "controller/decide/rollout/draft.h"
#include "controller/decide/rollout/phases.h"

namespace longshore::rollout {
namespace {

using api::RolloutPhase;
using api::Strategy;

// Whether the phase ends without a person.
bool GoesOnByItself(const Draft& draft) {
  const api::Rollout& policy = draft.policy();
  return policy.strategy == Strategy::kCanary ||
         (policy.strategy == Strategy::kBlueGreen && policy.preview.auto_promote);
}

// Whether the pairs have shown what they must.
bool IsShown(const Draft& draft) { return !draft.policy().shadow || draft.status().rollout.shadow_done; }

// Stores whether the pairs have shown what they must. This stays so, because a proof that was complete once is valid.
void NoteShown(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  if (IsShown(draft) || !TimeIsOver(draft)) return;
  const bool without_proof = PromotesWithoutProof(draft) && GoesOnByItself(draft);
  if (rollout.verdict.result != "Pass" && !without_proof) return;
  rollout.shadow_done = true;
  if (without_proof) return draft.Record("PromotedWithoutProof", rollout.verdict.message, true);
  draft.Record("ShadowPassed", rollout.verdict.message);
}

std::string ReasonToWait(Draft& draft) {
  if (const std::string wanted = PauseWanted(draft); !wanted.empty()) return wanted;
  if (draft.rollout().verdict.result == "Fail") return "AnalysisFailed";
  if (!IsShown(draft) && draft.rollout().verdict.result == "Inconclusive") return "Inconclusive";
  if (GoesOnByItself(draft)) return "";
  if (draft.policy().strategy == Strategy::kBlueGreen) return "Preview";
  return IsShown(draft) ? "ShadowPassed" : "";
}

void End(Draft& draft) {
  draft.rollout().shadow_done = true;
  if (draft.policy().strategy == Strategy::kCanary) {
    draft.SetPhase(RolloutPhase::kStep);
    return RunStep(draft);
  }
  draft.SetPhase(RolloutPhase::kPromoting);
  draft.Record("Promoting",
               fmt::format("version {} is to get all requests, as autoPromote says", draft.rollout().candidate));
  FinishPromotion(draft);
}

// The phase without weight that the spec wants, whether or not it is over; nullopt if it wants none.
std::optional<RolloutPhase> WantedPhase(const Draft& draft) {
  const api::RolloutStatus& rollout = draft.status().rollout;
  if (SkipsSteps(draft, rollout) || CarriesWeight(rollout)) return std::nullopt;
  switch (draft.policy().strategy) {
    case Strategy::kShadow: return RolloutPhase::kShadow;
    case Strategy::kBlueGreen: return RolloutPhase::kPreview;
    case Strategy::kImmediate: return std::nullopt;
    case Strategy::kCanary: break;
  }
  const bool is_first = draft.policy().shadow && rollout.step_index == 0;
  return is_first ? std::optional(RolloutPhase::kShadow) : std::nullopt;
}

std::string AboutPhase(const Draft& draft) {
  const api::Rollout& policy = draft.policy();
  std::string text = fmt::format("version {} has no weight", draft.status().rollout.candidate);
  if (policy.strategy == Strategy::kBlueGreen)
    text += fmt::format("; requests with the header {} or the label preview try it", policy.preview.header);
  if (policy.shadow) {
    const int stable = draft.StableNodes();
    const int both = policy.steps.empty() ? stable : draft.NodesFor(policy.steps.front().weight_percent);
    text += fmt::format("; on the nodes that hold both versions ({} of {}), {:g} % of stable's requests run on both",
                        both, stable, 100 * policy.shadow->share);
  }
  return text;
}

}  // namespace

std::optional<RolloutPhase> PhaseWithoutWeight(const Draft& draft) {
  const bool is_over = draft.policy().strategy == Strategy::kCanary && draft.status().rollout.shadow_done;
  return is_over ? std::nullopt : WantedPhase(draft);
}

void EnterWithoutWeight(Draft& draft, RolloutPhase phase) {
  draft.SetPhase(phase);
  BeginJudging(draft);
  draft.Record(std::string(api::RolloutPhaseName(phase)), AboutPhase(draft));
  RunWithoutWeight(draft);
}

void RunWithoutWeight(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  if (SkipsSteps(draft, rollout)) {
    draft.SetPhase(RolloutPhase::kLoading);
    return Load(draft);
  }
  if (FailedByEvidence(draft) || LostItsNodes(draft)) return;
  const std::optional<RolloutPhase> wanted = WantedPhase(draft);
  if (!wanted) return End(draft);
  if (*wanted != rollout.phase) return EnterWithoutWeight(draft, *wanted);
  if (FailedWithoutProof(draft)) return;
  NoteShown(draft);
  NotePause(draft, ReasonToWait(draft));
  const std::optional<TimePoint> ends = PromotesAt(draft);
  if (ends && draft.now() >= *ends) End(draft);
}

std::optional<TimePoint> PromotesAt(const Draft& draft) {
  const api::RolloutStatus& rollout = draft.status().rollout;
  if (!IsShown(draft) || !GoesOnByItself(draft) || !rollout.paused_reason.empty()) return std::nullopt;
  const bool has_steps = draft.policy().strategy == Strategy::kCanary;
  return rollout.step_started_at + (has_steps ? Duration(0) : *draft.policy().preview.auto_promote);
}

bool TookWeightBack(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  const Strategy strategy = draft.policy().strategy;
  const bool has_weight_early = strategy != Strategy::kShadow && strategy != Strategy::kBlueGreen;
  if (has_weight_early || !CarriesWeight(rollout) || SkipsSteps(draft, rollout)) return false;
  rollout.weight_percent = 0;
  rollout.step_index = 0;
  rollout.shadow_done = false;
  draft.SetPhase(RolloutPhase::kLoading);
  draft.Record("StrategyChanged",
               fmt::format("version {} gets no requests before it is promoted, because the strategy is "
                           "{} now",
                           rollout.candidate, api::StrategyName(strategy)));
  return true;
}

}  // namespace longshore::rollout
