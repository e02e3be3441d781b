#include "controller/decide/rollout/rollout.h"

#include <algorithm>

#include "controller/api/sentences.h"
#include "controller/decide/rollout/bad_nodes.h"
#include "controller/decide/rollout/draft.h"
#include "controller/decide/rollout/golden_set.h"
#include "controller/decide/rollout/phases.h"
#include "controller/decide/rollout/routing.h"
#include "controller/decide/rollout/warm.h"

namespace longshore::rollout {
namespace {

using api::RolloutPhase;

// Interval of decisions while the candidate is measured.
constexpr Duration kDecideInterval = std::chrono::milliseconds(200);

// Why no rollout can start; "" if one can.
std::string WhyNone(const Draft& draft) {
  const std::optional<int64_t> target = draft.Target();
  const auto source = draft.FindSourceProblem();
  if (!target)
    return "no version has been found under " + draft.spec().source_uri + (source ? "; " + source->message : "");
  if (*target == draft.status().stable_version) return fmt::format("version {} serves already", *target);
  if (draft.NodesCount() == 0) return draft.WhyNoNodes();
  if (source && source->is_on_no_node) return source->message;
  const api::FailedVersion* failed = draft.FailureOf(*target);
  if (failed == nullptr) return "";
  const bool lacked_memory = failed->reason == kNotEnoughMemory;
  return fmt::format("version {} failed ({}: {}) and is not tried again until {}{}, or after retry", *target,
                     failed->reason, failed->message, lacked_memory ? "one of these nodes has enough memory, " : "",
                     api::ChangesToTryAgain(*failed));
}

// Rolls back if nodes report a failure of the candidate that ends the rollout, whatever the statistics are.
bool FailedOnNodes(Draft& draft) {
  const std::optional<Failure> failure = FailureOfCandidate(draft);
  if (failure) draft.RollBack(failure->reason, failure->message, true);
  return failure.has_value();
}

void Validate(Draft& draft) {
  const int64_t candidate = draft.rollout().candidate;
  // A node loads a version only after its rehearsal passed. A node that reports "loading" may still be about to begin
  // the rehearsal.
  for (const NodeSeen* node : draft.nodes()) {
    const auto seen = node->versions.find(candidate);
    if (seen == node->versions.end()) continue;
    const NodeState state = seen->second.state;
    if (state != NodeState::kWarming && state != NodeState::kReady) continue;
    draft.SetPhase(RolloutPhase::kLoading);
    draft.Record("Validated", fmt::format("version {} passed its rehearsal on node {}", candidate, node->name));
    return Load(draft);
  }
  CheckDeadline(draft, "the rehearsal");
}

// Starts a rollout if one is wanted and possible. Validates the candidate at once, because a node may have it ready
// already. Reports of an earlier attempt do not count.
void MaybeStart(Draft& draft) {
  if (!WhyNone(draft).empty()) return;
  Start(draft, *draft.Target());
  Validate(draft);
}

void Advance(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  if (!IsUnderWay(rollout.phase)) return MaybeStart(draft);
  const std::optional<int64_t> target = IsUndo(draft) ? rollout.candidate : draft.Target();
  if (target && *target == rollout.stable) {
    return draft.RollBack("SpecChanged", fmt::format("the spec asks for version {} again", *target), false);
  }
  if (target && *target != rollout.candidate) {
    return draft.RollBack("Superseded", fmt::format("the spec asks for version {} now", *target), false);
  }
  if (FailedOnNodes(draft)) return;
  if (TookWeightBack(draft)) return Load(draft);
  switch (rollout.phase) {
    case RolloutPhase::kValidating: return Validate(draft);
    case RolloutPhase::kLoading: return Load(draft);
    case RolloutPhase::kShadow:
    case RolloutPhase::kPreview: return RunWithoutWeight(draft);
    case RolloutPhase::kStep:
    case RolloutPhase::kPaused: return RunStep(draft);
    case RolloutPhase::kPromoting: return FinishPromotion(draft);
    default: return;
  }
}

std::optional<Duration> Sooner(std::optional<Duration> a, std::optional<Duration> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// A moment after `left`, if that is in the future.
std::optional<Duration> After(std::optional<Duration> left) {
  return left > Duration(0) ? std::optional(*left + Duration(1)) : std::nullopt;
}

// When to decide again. Nodes report their own changes, but new evidence and the passing of time require periodic
// decisions.
std::optional<Duration> CheckAgainIn(Draft& draft) {
  const api::RolloutStatus& rollout = draft.rollout();
  if (GathersEvidence(draft) || draft.observed().awaits_reports) return kDecideInterval;
  if (IsWithoutWeight(rollout.phase)) {
    const std::optional<TimePoint> ends = PromotesAt(draft);
    return ends ? std::optional(std::max(kDecideInterval, *ends - draft.now())) : std::nullopt;
  }
  if (const auto left = draft.FleetIsMissedIn(); left > Duration(0)) return left;
  if (IsUnderWay(rollout.phase)) {
    if (draft.NodesCount() == 0) return std::nullopt;
    const Duration left = rollout.step_started_at + draft.policy().progress_deadline - draft.now();
    return std::max(kDecideInterval, left + Duration(1));
  }
  if (WhyNone(draft).empty()) return Duration(0);
  return Sooner(After(MissingNodesAreLateIn(draft)), After(RoutingIsLateIn(draft)));
}

// The time until nodes may unload the warm version, or after that until they have to; nullopt if no version is warm.
std::optional<Duration> WarmEndsIn(const Draft& draft) {
  const std::optional<Warm> warm = WarmOf(draft.policy(), draft.status(), draft.now());
  if (!warm) return std::nullopt;
  return (draft.now() < warm->needed_until ? warm->needed_until : warm->until) - draft.now();
}

// Whether a condition says that nodes do not route requests yet as the status says.
bool SaysRouting(const api::ModelStatus& status) {
  return std::ranges::find(status.conditions, kRouting, &api::Condition::reason) != status.conditions.end();
}

}  // namespace

void Load(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  // The candidate already has weight here if a user removed the steps while the rollout was at one of them. It loses
  // this weight if it is ready on too few nodes.
  if (LostItsNodes(draft)) return;
  if (SkipsSteps(draft, rollout)) {
    // The first version serves as soon as one node has it, because there is no serving version to protect.
    if (IsHeld(draft)) return;
    if (IsReadyOn(draft, rollout.stable == 0 ? 1 : draft.StableNodes())) return Promote(draft);
  } else if (IsReadyOn(draft, draft.NodesFor(StepWeight(draft)))) {
    if (const auto phase = PhaseWithoutWeight(draft)) return EnterWithoutWeight(draft, *phase);
    const TimePoint since = rollout.step_started_at;
    draft.SetPhase(RolloutPhase::kStep);
    // The nodes have used up the progress deadline also for the weight that is still to be given.
    if (rollout.weight_percent != StepWeight(draft)) rollout.step_started_at = since;
    return RunStep(draft);
  }
  if (!IsHeld(draft)) CheckDeadline(draft, "the candidate to be ready");
}

void Start(Draft& draft, int64_t candidate, const std::string& why) {
  draft.Forget(candidate);
  api::ModelStatus& status = draft.status();
  const int attempt = status.rollout.attempt + 1;
  status.rollout = {};
  status.rollout.id = fmt::format("{}/{}/{}", draft.uid(), candidate, attempt);
  status.rollout.stable = status.stable_version;
  status.rollout.candidate = candidate;
  status.rollout.attempt = attempt;
  status.rollout.started_at = draft.now();
  // A first version is compared with no other one.
  if (status.stable_version != 0)
    status.rollout.verdict = {"Undecided", "NotStarted", "the candidate has had no traffic yet", {}};
  status.digests.erase(candidate);
  status.sources[candidate] = {draft.spec().source_uri, draft.spec().source_sha256};
  draft.SetPhase(RolloutPhase::kValidating);
  draft.Record("Started", status.stable_version == 0
                              ? fmt::format("version {} is to become the first version that serves", candidate)
                              : fmt::format("version {} is to replace {}{}", candidate, status.stable_version, why));
}

void CheckDeadline(Draft& draft, const std::string& waiting_for) {
  if (draft.NodesCount() == 0 || !draft.IsAfterDeadline()) return;
  const int64_t candidate = draft.rollout().candidate;
  const Duration waited = draft.now() - draft.rollout().step_started_at;
  const std::string message =
      fmt::format("waited {} s for {}{}", waited.count() / 1000000, waiting_for, draft.ReportsFor(candidate));
  const size_t without_memory = draft.NodesIn(candidate, NodeState::kNoMemory).size();
  if (without_memory == 0) return draft.RollBack("ProgressDeadline", message, true);
  draft.RollBack(kNotEnoughMemory, message, true);
  draft.rollout().verdict.numbers[kNodesWithoutMemory] = static_cast<double>(without_memory);
}

void Promote(Draft& draft) {
  draft.status().stable_version = draft.rollout().candidate;
  draft.rollout().weight_percent = 100;
  draft.rollout().paused_by_command = false;
  draft.SetPhase(RolloutPhase::kCompleted);
  if (IsUndo(draft)) return NoteUndo(draft, draft.rollout().stable, draft.rollout().candidate);
  draft.Record("Promoted", fmt::format("version {} serves all requests{}", draft.rollout().candidate,
                                       NodesWithoutCandidate(draft)));
}

Decision Decide(const api::Model& model, const Observed& observed, TimePoint now) {
  Draft draft(model, observed, now);
  const api::RolloutStatus& before = model.status.rollout;
  bool evidence_used = UseEvidence(draft);
  TakeCommands(draft);
  // An undo is a change of weight.
  const bool is_undone = draft.status().stable_version != model.status.stable_version;
  if (!is_undone) Advance(draft);
  FailLabelled(draft);
  Describe(draft);
  // The first window starts when the candidate first gets weight, so the counts before that are treated as used.
  evidence_used = evidence_used || (before.analysis.is_null() && !draft.rollout().analysis.is_null());
  Decision decision;
  decision.safety =
      is_undone || (CarriesWeight(before) && draft.status().stable_version == model.status.stable_version &&
                    draft.rollout().weight_percent < before.weight_percent);
  decision.placement = PlacementOf(draft);
  decision.events = draft.events();
  decision.awaits_routing = SaysRouting(draft.status());
  const bool is_untold = decision.awaits_routing && !draft.KeepsRoutes();
  decision.check_again_in = draft.status().commands.empty() && !is_untold
                                ? Sooner(Sooner(CheckAgainIn(draft), WarmEndsIn(draft)), CheckGoldenSetIn(draft))
                                : Duration(0);
  decision.evidence_used = evidence_used;
  decision.status = draft.status();
  return decision;
}

bool OnlyEvidenceIsNew(const api::ModelStatus& before, const api::ModelStatus& after) {
  if (before.rollout.analysis.is_null() || after.rollout.analysis.is_null()) return false;
  api::ModelStatus same = after;
  same.rollout.analysis = before.rollout.analysis;
  same.rollout.evidence_used_at = before.rollout.evidence_used_at;
  same.rollout.held_since = before.rollout.held_since;
  same.rollout.verdict = before.rollout.verdict;
  return after.rollout.verdict.result == before.rollout.verdict.result && same == before;
}

bool OnlyDetailsAreNew(const api::ModelStatus& before, const api::ModelStatus& after) {
  const bool is_equal = before.nodes == after.nodes && before.conditions == after.conditions;
  if (is_equal || before.conditions.size() != after.conditions.size()) return false;
  api::ModelStatus same = after;
  same.nodes = before.nodes;
  for (size_t i = 0; i < same.conditions.size(); ++i) same.conditions[i].message = before.conditions[i].message;
  return same == before;
}

std::string WhyNoRollout(const api::Model& model, const Observed& observed, TimePoint now) {
  const Draft draft(model, observed, now);
  return IsUnderWay(model.status.rollout.phase) ? "" : WhyNone(draft);
}

Placement PlacementNow(const api::Model& model, const Observed& observed, TimePoint now) {
  Draft draft(model, observed, now);
  return PlacementOf(draft);
}

}  // namespace longshore::rollout
