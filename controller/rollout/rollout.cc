#include "controller/rollout/rollout.h"

#include <algorithm>
#include <cmath>

#include "controller/rollout/draft.h"

namespace longshore::rollout {
namespace {

using api::RolloutPhase;

constexpr Duration kLookAgain = std::chrono::milliseconds(200);

void Start(Draft& draft, int64_t candidate) {
  api::ModelStatus& status = draft.status();
  const int attempt = status.rollout.attempt + 1;
  status.rollout = {};
  status.rollout.id = fmt::format("{}/{}/{}", draft.uid(), candidate, attempt);
  status.rollout.stable = status.stable_version;
  status.rollout.candidate = candidate;
  status.rollout.attempt = attempt;
  status.rollout.started_at = draft.now();
  status.rollout.verdict = {"Undecided", "NotStarted", "the candidate has had no traffic yet", {}};
  status.digests.erase(candidate);
  draft.SetPhase(RolloutPhase::kValidating);
  draft.Record("Started", status.stable_version == 0
                              ? fmt::format("version {} is the first", candidate)
                              : fmt::format("version {} is to replace {}", candidate, status.stable_version));
}

void MaybeStart(Draft& draft) {
  const std::optional<int64_t> target = draft.Target();
  if (!target || *target == draft.status().stable_version || draft.nodes().empty()) return;
  if (draft.FailureOf(*target) == nullptr) Start(draft, *target);
}

// What a node says about the candidate that ends the rollout, whatever the statistics say.
bool FailedOnANode(Draft& draft) {
  const int64_t candidate = draft.rollout().candidate;
  for (const NodeSeen& node : draft.observed().nodes) {
    const auto found = node.versions.find(candidate);
    if (found == node.versions.end()) continue;
    const VersionSeen& seen = found->second;
    if (seen.guard) {
      draft.RollBack(seen.guard->reason, fmt::format("node {}: {}", node.name, seen.guard->message), true);
    } else if (seen.golden && !seen.golden->ok) {
      draft.RollBack("GoldenSet",
                     fmt::format("node {}: {} of {} records passed: {}", node.name, seen.golden->passed,
                                 seen.golden->records, seen.golden->message),
                     true);
    } else if (seen.state == NodeState::kFailed) {
      draft.RollBack("LoadFailed", fmt::format("node {}: {}", node.name, seen.message), true);
    } else if (seen.state == NodeState::kQuarantined) {
      draft.RollBack("Crashed", fmt::format("node {}: {}", node.name, seen.message), true);
    } else {
      continue;
    }
    return true;
  }
  return false;
}

// While the rollout waits for nodes: gives up after the progress deadline, saying what they said last.
void CheckDeadline(Draft& draft, const std::string& waiting_for) {
  const Duration waited = draft.now() - draft.rollout().step_started_at;
  if (draft.nodes().empty() || waited <= draft.policy().progress_deadline) return;
  std::string said;
  for (const NodeSeen* node : draft.nodes()) {
    const auto seen = node->versions.find(draft.rollout().candidate);
    if (seen != node->versions.end() && !seen->second.message.empty())
      said += fmt::format("; node {}: {}", node->name, seen->second.message);
  }
  draft.RollBack("ProgressDeadline", fmt::format("waited {} s for {}{}", waited.count() / 1000000, waiting_for, said),
                 true);
}

void Promote(Draft& draft) {
  draft.status().stable_version = draft.rollout().candidate;
  draft.rollout().weight_percent = 100;
  draft.rollout().paused_by_command = false;
  draft.SetPhase(RolloutPhase::kCompleted);
  draft.Record("Promoted", fmt::format("version {} serves all requests", draft.rollout().candidate));
}

void Validate(Draft& draft) {
  const int64_t candidate = draft.rollout().candidate;
  // A node loads only what passed its trial, so a version that is loading or further has passed.
  for (const NodeSeen* node : draft.nodes()) {
    const auto seen = node->versions.find(candidate);
    if (seen == node->versions.end()) continue;
    const NodeState state = seen->second.state;
    if (state != NodeState::kLoading && state != NodeState::kWarming && state != NodeState::kReady) continue;
    draft.SetPhase(RolloutPhase::kLoading);
    return draft.Record("Validated", fmt::format("version {} passed its trial on node {}", candidate, node->name));
  }
  CheckDeadline(draft, "the trial");
}

double StepWeight(Draft& draft) {
  const auto& steps = draft.policy().steps;
  if (steps.empty()) return 100;
  // The spec may have lost steps since.
  draft.rollout().step_index = std::clamp(draft.rollout().step_index, 0, static_cast<int>(steps.size()) - 1);
  return steps[static_cast<size_t>(draft.rollout().step_index)].weight_percent;
}

bool SkipsSteps(const Draft& draft, const api::RolloutStatus& rollout) {
  return rollout.stable == 0 || draft.policy().strategy == api::Strategy::kImmediate || draft.policy().steps.empty();
}

void Load(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  const int ready = draft.ReadyNodes(rollout.candidate);
  if (SkipsSteps(draft, rollout)) {
    // The first version serves as soon as anybody holds it: there is nothing it could make worse.
    const int needed = rollout.stable == 0 ? 1 : draft.StableNodes();
    if (ready >= needed && ready > 0) return Promote(draft);
  } else if (ready >= NodesNeeded(StepWeight(draft), static_cast<int>(draft.nodes().size()))) {
    return draft.SetPhase(RolloutPhase::kStep);
  }
  CheckDeadline(draft, "the candidate to be ready");
}

analysis::Analysis AnalysisOf(Draft& draft) {
  const auto stored = analysis::FromJson(draft.rollout().analysis);
  // Evidence that cannot be read is no evidence: begin again.
  const bool usable = stored && !draft.rollout().analysis.is_null();
  return usable ? *stored : analysis::Begin(draft.spec(), draft.observed().stable_past);
}

Duration HoldOf(Draft& draft) {
  return draft.policy().steps[static_cast<size_t>(draft.rollout().step_index)].hold.value_or(draft.policy().hold);
}

bool HoldIsOver(Draft& draft) { return draft.now() - draft.rollout().step_started_at >= HoldOf(draft); }

bool CarriesWeight(const api::RolloutStatus& rollout) {
  return IsUnderWay(rollout.phase) && rollout.weight_percent > 0;
}

// The windows join the analysis once a second, or earlier when it completes a step. Both depend on time and on numbers
// of requests, never on how they ended, as the sequential test demands; a non-finite answer is certain and cannot wait.
bool IsTimeForEvidence(Draft& draft, const analysis::Analysis& analysis) {
  const analysis::WindowEvidence window = analysis::Sum(draft.observed().windows);
  if (window.candidate.requests == 0 && window.stable.requests == 0) return false;
  if (window.candidate.non_finite > 0) return true;
  if (draft.now() - draft.rollout().evidence_used_at >= kEvidenceInterval) return true;
  const int64_t in_step =
      analysis::CandidateRequests(analysis) + window.candidate.requests - draft.rollout().step_candidate_requests;
  return window.candidate.requests > 0 && in_step >= draft.policy().requests_min && !draft.policy().steps.empty() &&
         draft.rollout().verdict.result == "Undecided" && HoldIsOver(draft);
}

bool UseEvidence(Draft& draft) {
  if (!CarriesWeight(draft.rollout())) return false;
  StepWeight(draft);
  analysis::Analysis analysis = AnalysisOf(draft);
  if (!IsTimeForEvidence(draft, analysis)) return false;
  for (const auto& [node, window] : draft.observed().windows) {
    analysis = analysis::Update(std::move(analysis), node, window);
  }
  draft.rollout().analysis = analysis::ToJson(analysis);
  draft.rollout().evidence_used_at = draft.now();
  const int64_t in_step = analysis::CandidateRequests(analysis) - draft.rollout().step_candidate_requests;
  draft.rollout().verdict = analysis::Judge(analysis, draft.spec(), in_step);
  return true;
}

// Gives the candidate its step's weight and starts the step's clock and count.
void ApplyWeight(Draft& draft, double weight_percent) {
  api::RolloutStatus& rollout = draft.rollout();
  const bool first = rollout.analysis.is_null();
  const analysis::Analysis analysis = AnalysisOf(draft);
  rollout.analysis = analysis::ToJson(analysis);
  if (first) rollout.evidence_used_at = draft.now();
  rollout.weight_percent = weight_percent;
  rollout.step_started_at = draft.now();
  rollout.step_candidate_requests = analysis::CandidateRequests(analysis);
  rollout.verdict = analysis::Judge(analysis, draft.spec(), 0);
  draft.Record("Step", fmt::format("version {} gets {:g}% of the requests", rollout.candidate, weight_percent));
}

void NextStep(Draft& draft) {
  const bool last = draft.rollout().step_index + 1 >= static_cast<int>(draft.policy().steps.size());
  if (!last) ++draft.rollout().step_index;
  draft.SetPhase(last ? RolloutPhase::kPromoting : RolloutPhase::kStep);
  if (last)
    draft.Record("Promoting", fmt::format("version {} is being loaded on all nodes", draft.rollout().candidate));
}

std::string PauseReason(Draft& draft) {
  if (draft.policy().paused) return "Spec";
  if (draft.rollout().paused_by_command) return "Command";
  if (draft.rollout().verdict.result == "Fail") return "AnalysisFailed";
  const auto& step = draft.policy().steps[static_cast<size_t>(draft.rollout().step_index)];
  return step.manual_pause ? "Manual" : "";
}

void SetPause(Draft& draft, const std::string& reason) {
  api::RolloutStatus& rollout = draft.rollout();
  if (reason == rollout.paused_reason) return;
  const bool was_paused = !rollout.paused_reason.empty();
  rollout.paused_reason = reason;
  rollout.phase = reason.empty() ? RolloutPhase::kStep : RolloutPhase::kPaused;
  if (!reason.empty()) draft.Record("Paused", fmt::format("at {:g}%: {}", rollout.weight_percent, reason));
  if (reason.empty() && was_paused) draft.Record("Resumed", fmt::format("at {:g}%", rollout.weight_percent));
}

// True when the statistics end the rollout.
bool FailedByEvidence(Draft& draft) {
  const api::Verdict verdict = draft.rollout().verdict;
  if (verdict.result != "Fail") return false;
  const bool certain = verdict.reason == "NonFinite";
  if (draft.policy().on_failure == api::OnFailure::kPause && !certain) return false;
  draft.RollBack(verdict.reason, verdict.message, true);
  return true;
}

// Nodes that held the candidate are gone: no weight on what too few can answer. Half of what a weight needs keeps it,
// so that one restarting node does not move users back and forth.
bool LostItsNodes(Draft& draft) {
  const int ready = draft.ReadyNodes(draft.rollout().candidate);
  const int needed = NodesNeeded(draft.rollout().weight_percent, static_cast<int>(draft.nodes().size()));
  if (draft.rollout().weight_percent == 0 || (ready > 0 && ready * 2 >= needed)) return false;
  draft.rollout().weight_percent = 0;
  draft.SetPhase(RolloutPhase::kLoading);
  draft.Record("NodesLost",
               fmt::format("version {} is ready on {} of {} nodes it needs", draft.rollout().candidate, ready, needed),
               true);
  return true;
}

void RunStep(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  if (SkipsSteps(draft, rollout)) return draft.SetPhase(RolloutPhase::kLoading);
  const double weight = StepWeight(draft);
  if (FailedByEvidence(draft) || LostItsNodes(draft)) return;
  if (rollout.weight_percent != weight) {
    // A pause freezes what is; it never keeps weight on a candidate that the spec has taken it from.
    if (weight > rollout.weight_percent && (draft.policy().paused || rollout.paused_by_command)) {
      return SetPause(draft, draft.policy().paused ? "Spec" : "Command");
    }
    if (draft.ReadyNodes(rollout.candidate) >= NodesNeeded(weight, static_cast<int>(draft.nodes().size()))) {
      SetPause(draft, "");
      return ApplyWeight(draft, weight);
    }
    return CheckDeadline(draft, "nodes to take more weight");
  }
  SetPause(draft, PauseReason(draft));
  if (rollout.phase == RolloutPhase::kStep && rollout.verdict.result == "Pass" && HoldIsOver(draft)) NextStep(draft);
}

void FinishPromotion(Draft& draft) {
  if (FailedByEvidence(draft) || LostItsNodes(draft)) return;
  const int ready = draft.ReadyNodes(draft.rollout().candidate);
  if (ready > 0 && ready >= draft.StableNodes()) return Promote(draft);
  CheckDeadline(draft, "all nodes to be ready");
}

void Advance(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  if (!IsUnderWay(rollout.phase)) return MaybeStart(draft);
  const std::optional<int64_t> target = draft.Target();
  if (target && *target == rollout.stable) {
    return draft.RollBack("SpecChanged", fmt::format("the spec asks for version {} again", *target), false);
  }
  if (target && *target != rollout.candidate) {
    return draft.RollBack("Superseded", fmt::format("the spec asks for version {} now", *target), false);
  }
  if (FailedOnANode(draft)) return;
  switch (rollout.phase) {
    case RolloutPhase::kValidating: return Validate(draft);
    case RolloutPhase::kLoading: return Load(draft);
    case RolloutPhase::kStep:
    case RolloutPhase::kPaused: return RunStep(draft);
    case RolloutPhase::kPromoting: return FinishPromotion(draft);
    default: return;
  }
}

std::optional<Duration> LookAgain(Draft& draft, bool changed) {
  const api::RolloutStatus& rollout = draft.rollout();
  if (changed) return Duration(0);
  if (IsUnderWay(rollout.phase)) return kLookAgain;
  if (rollout.phase != RolloutPhase::kCompleted) return std::nullopt;
  const Duration left = rollout.step_started_at + draft.policy().hold - draft.now();
  return left > Duration(0) ? std::optional(left) : std::nullopt;
}

}  // namespace

Decision Decide(const api::Model& model, const Observed& observed, TimePoint now) {
  Draft draft(model, observed, now);
  const api::RolloutStatus& before = model.status.rollout;
  bool evidence_used = UseEvidence(draft);
  TakeCommand(draft);
  Advance(draft);
  Describe(draft);
  // The first window begins with the candidate's first weight.
  evidence_used = evidence_used || (before.analysis.is_null() && !draft.rollout().analysis.is_null());
  Decision decision;
  decision.safety = CarriesWeight(before) && draft.status().stable_version == model.status.stable_version &&
                    draft.rollout().weight_percent < before.weight_percent;
  decision.placement = PlacementOf(draft);
  decision.events = draft.events();
  decision.check_again_in = LookAgain(draft, !draft.events().empty());
  decision.evidence_used = evidence_used;
  decision.status = draft.status();
  return decision;
}

Placement PlacementNow(const api::Model& model, const Observed& observed, TimePoint now) {
  Draft draft(model, observed, now);
  return PlacementOf(draft);
}

}  // namespace longshore::rollout
