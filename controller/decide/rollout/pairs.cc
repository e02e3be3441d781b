#include "controller/decide/rollout/pairs.h"

#include <algorithm>

#include "controller/api/sentences.h"
#include "controller/api/units.h"
#include "controller/decide/rollout/phases.h"

namespace longshore::rollout {
namespace {

struct PairProblem {
  std::string reason;
  std::string message;
};

// Whether requests become pairs now, and where the spec sets how many.
bool MakesPairs(const Draft& draft) {
  if (!IsUnderWay(draft.status().rollout.phase) || !GathersEvidence(draft)) return false;
  const api::Rollout& policy = draft.policy();
  const bool is_shadow = IsWithoutWeight(draft.status().rollout.phase);
  return is_shadow ? policy.shadow->share > 0 && policy.shadow->budget > 0
                   : policy.pairs.share > 0 && policy.pairs.budget > 0;
}

std::string BudgetField(const Draft& draft) {
  return IsWithoutWeight(draft.status().rollout.phase) ? "rollout.shadow.budget" : "rollout.analysis.pairs.budget";
}

std::optional<PairProblem> WithoutPairs(const Draft& draft) {
  const analysis::DropsSincePair drops = analysis::DropsSincePairIn(draft.status().rollout.analysis);
  if (drops.last - drops.since < kWithoutPairsMax || draft.now() - drops.last > kDropsAgeMax ||
      drops.dropped.total() < kDropsMin)
    return std::nullopt;
  const std::string none =
      fmt::format("no sampled request became a pair since {}, mostly because ", api::FormatTime(drops.since));
  if (drops.dropped.budget > drops.dropped.busy + drops.dropped.queue) {
    return PairProblem{"BudgetSpent", none + fmt::format("the share of the run slots for pairs was used up: raise {}",
                                                         BudgetField(draft))};
  }
  return PairProblem{"NeverIdle",
                     none +
                         "no run slot was idle for a second, or too many pairs waited for one: add nodes, or "
                         "wait for a time with fewer requests, or end "
                         "the phase or the step with `longshore promote`"};
}

std::optional<PairProblem> OneRunSlot(const Draft& draft) {
  const api::RolloutStatus& rollout = draft.status().rollout;
  const auto is_ready = [](const NodeSeen& node, int64_t version) {
    const auto seen = node.versions.find(version);
    return seen != node.versions.end() && seen->second.state == NodeState::kReady;
  };
  std::vector<api::Sentence> nodes;
  for (const NodeSeen* node : draft.nodes()) {
    const bool has_both = is_ready(*node, rollout.stable) && is_ready(*node, rollout.candidate);
    if (has_both && node->run_slots == 1) nodes.push_back({node->name, ""});
  }
  if (nodes.empty()) return std::nullopt;
  return PairProblem{
      "OneRunSlot",
      fmt::format("these nodes execute one run at a time, so a request that arrives during a run of a pair waits until "
                  "that run has ended: raise engine.concurrentRuns of the fleet if the nodes have more processors, or "
                  "lower {}: {}",
                  BudgetField(draft), api::JoinSentences(nodes, {.count_max = Draft::kNodesNamedMax}))};
}

}  // namespace

void DescribePairs(Draft& draft) {
  std::optional<PairProblem> problem;
  if (MakesPairs(draft)) problem = WithoutPairs(draft);
  if (MakesPairs(draft) && !problem && IsWithoutWeight(draft.status().rollout.phase)) problem = OneRunSlot(draft);
  draft.SetProblemCondition("PairsHaveRoom", problem ? problem->reason : "", problem ? problem->message : "");
}

}  // namespace longshore::rollout
