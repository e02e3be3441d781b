#include <algorithm>
#include <cmath>

#include "controller/decide/rollout/draft.h"

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
      if (draft.policy().strategy == api::Strategy::kImmediate || steps.empty()) return draft.StableNodes();
      [[fallthrough]];
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

void AddStable(Draft& draft, Placement& placement) {
  const int64_t stable = draft.status().stable_version;
  if (stable == 0) return;
  const int given = placement.versions.empty() ? 0 : placement.versions[0].weight_bp;
  placement.versions.push_back(
      {.version = stable, .weight_bp = kWhole - given, .nodes = draft.Choose(stable, draft.StableNodes())});
}

// Keeps the version that was stable before the last promotion on its nodes until the soak time of the new version is
// over.
void AddSoaking(Draft& draft, Placement& placement) {
  const api::RolloutStatus& rollout = draft.rollout();
  const bool soaking = rollout.phase == RolloutPhase::kCompleted && rollout.stable != 0 &&
                       rollout.stable != draft.status().stable_version &&
                       draft.now() < rollout.step_started_at + draft.policy().hold;
  if (soaking)
    placement.versions.push_back(
        {.version = rollout.stable, .nodes = draft.NodesIn(rollout.stable, NodeState::kReady)});
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
  AddStable(draft, placement);
  AddSoaking(draft, placement);
  AddLabelled(draft, placement);
  std::sort(placement.versions.begin(), placement.versions.end(),
            [](const auto& a, const auto& b) { return a.version < b.version; });
  for (VersionPlacement& placed : placement.versions) placed.ready = draft.NodesIn(placed.version, NodeState::kReady);
  return placement;
}

}  // namespace longshore::rollout
