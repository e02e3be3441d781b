#include <algorithm>
#include <cmath>

#include "controller/decide/rollout/draft.h"
#include "controller/decide/rollout/failure.h"
#include "controller/decide/rollout/phases.h"
#include "controller/decide/rollout/warm.h"

namespace longshore::rollout {
namespace {

using api::RolloutPhase;

constexpr int kWhole = 10000;

// The number of nodes that should load the candidate in this phase.
int CandidateNodes(Draft& draft) {
  const api::RolloutStatus& rollout = draft.rollout();
  const auto& steps = draft.policy().steps;
  switch (rollout.phase) {
    case RolloutPhase::kValidating: return 1;
    case RolloutPhase::kPromoting: return draft.StableNodes();
    case RolloutPhase::kLoading:
      if (rollout.stable == 0) return 1;
      if (SkipsSteps(draft, rollout)) return draft.StableNodes();
      [[fallthrough]];
    case RolloutPhase::kShadow:
    case RolloutPhase::kPreview:
    case RolloutPhase::kStep:
    case RolloutPhase::kPaused: {
      if (steps.empty()) return draft.StableNodes();
      const size_t step = std::min(static_cast<size_t>(rollout.step_index), steps.size() - 1);
      const double weight = std::max(steps[step].weight_percent, rollout.weight_percent);
      return draft.NodesFor(weight);
    }
    default: return 0;
  }
}

bool MayBecomeReady(NodeState state) {
  return state != NodeState::kUnloading && state != NodeState::kFailed && state != NodeState::kQuarantined &&
         state != NodeState::kNotFound && state != NodeState::kNoMemory;
}

void AddCandidate(Draft& draft, Placement& placement) {
  const int count = CandidateNodes(draft);
  if (count == 0) return;
  const api::RolloutStatus& rollout = draft.rollout();
  placement.versions.push_back(
      {.version = rollout.candidate,
       .weight_bp = rollout.stable == 0 ? 0 : static_cast<int>(std::lround(rollout.weight_percent * 100)),
       .candidate = true,
       .rehearse = rollout.phase == RolloutPhase::kValidating,
       .nodes = draft.Choose(rollout.candidate, count)});
}

// After a rollback for lack of memory, the nodes that lacked it go on waiting for it. The rollout starts again when one
// of them has rehearsed the version.
void AddWaiting(Draft& draft, Placement& placement) {
  const api::RolloutStatus& rollout = draft.rollout();
  const api::FailedVersion* failed = draft.FailureOf(rollout.candidate);
  const bool waits = rollout.phase == RolloutPhase::kRolledBack && draft.Target() == rollout.candidate &&
                     failed != nullptr && failed->reason == kNotEnoughMemory;
  if (!waits) return;
  std::vector<std::string> nodes = draft.NodesThatAwaitMemory();
  if (nodes.empty()) return;
  placement.versions.push_back(
      {.version = rollout.candidate, .candidate = true, .rehearse = true, .nodes = std::move(nodes)});
}

void AddStable(Draft& draft, Placement& placement) {
  const int64_t stable = draft.status().stable_version;
  if (stable == 0) return;
  const int given = placement.versions.empty() ? 0 : placement.versions[0].weight_bp;
  placement.versions.push_back(
      {.version = stable, .weight_bp = kWhole - given, .nodes = draft.Choose(stable, draft.StableNodes())});
}

// Keeps the warm version on the nodes that report it, except where it may leave and another version lacks memory.
// A node that has restarted reports it before it is ready again.
void AddWarm(Draft& draft, Placement& placement) {
  const std::optional<Warm> warm = WarmOf(draft.policy(), draft.status(), draft.now());
  if (!warm || draft.IsLabelled(warm->version)) return;
  std::vector<std::string> nodes;
  bool only_leaving_nodes_have_it = !draft.Answering(warm->version).empty();
  for (const NodeSeen* node : draft.nodes()) {
    const auto seen = node->versions.find(warm->version);
    if (seen == node->versions.end() || !MayBecomeReady(seen->second.state)) continue;
    only_leaving_nodes_have_it = false;
    const bool is_needed = draft.now() < warm->needed_until;
    const bool has_memory =
        !MemoryLackOn(*node, draft.status().stable_version) && !MemoryLackOn(*node, draft.status().rollout.candidate);
    if (is_needed || has_memory) nodes.push_back(node->name);
  }
  if (only_leaving_nodes_have_it) nodes = draft.Choose(warm->version, 1);
  if (!nodes.empty()) placement.versions.push_back({.version = warm->version, .nodes = std::move(nodes)});
}

void AddLabelled(Draft& draft, Placement& placement) {
  for (const auto& [label, version] : draft.spec().version_labels) {
    const bool known = std::any_of(placement.versions.begin(), placement.versions.end(),
                                   [&, wanted = version](const auto& placed) { return placed.version == wanted; });
    if (known || draft.FailureOf(version) != nullptr) continue;
    placement.versions.push_back(
        {.version = version, .rehearse = true, .nodes = draft.Choose(version, draft.StableNodes())});
  }
}

}  // namespace

Placement PlacementOf(Draft& draft) {
  Placement placement;
  placement.salt = draft.rollout().id;
  AddCandidate(draft, placement);
  AddWaiting(draft, placement);
  AddStable(draft, placement);
  AddWarm(draft, placement);
  AddLabelled(draft, placement);
  std::sort(placement.versions.begin(), placement.versions.end(),
            [](const auto& a, const auto& b) { return a.version < b.version; });
  for (VersionPlacement& placed : placement.versions) {
    placed.ready = draft.Answering(placed.version);
    const std::vector<std::string> departing = draft.ReadyOnDeparting(placed.version);
    placed.nodes.insert(placed.nodes.end(), departing.begin(), departing.end());
    std::ranges::sort(placed.nodes);
  }
  return placement;
}

}  // namespace longshore::rollout
