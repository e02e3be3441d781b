#include "controller/decide/rollout/bad_nodes.h"

#include <algorithm>

#include "controller/api/sentences.h"
#include "controller/decide/rollout/phases.h"
#include "controller/decide/rollout/routing.h"

namespace longshore::rollout {
namespace {

// The failures of the nodes that cannot serve the version now, except of draining nodes.
std::vector<Failure> BadNodesOf(const Draft& draft, int64_t version) {
  std::vector<Failure> bad;
  for (const NodeSeen* node : draft.nodes()) {
    auto failure = FailureOn(*node, version);
    if (!failure) failure = MemoryLackOn(*node, version);
    if (failure) bad.push_back(std::move(*failure));
  }
  return bad;
}

int UnavailableMax(const Draft& draft) { return draft.policy().max_unavailable.Of(draft.StableNodes()); }

// Since when nodes are without the stable version. The condition Reconciling of the last decision tells whether they
// were without it then.
TimePoint MissingSince(const Draft& draft) {
  const api::ModelStatus& status = draft.status();
  const TimePoint ended = status.rollout.step_started_at;
  const auto last = std::ranges::find(status.conditions, "Reconciling", &api::Condition::type);
  if (status.observed_fleet != draft.observed().fleet_seen) return draft.now();
  if (last == status.conditions.end() || last->reason == kNodesLate) return ended;
  if (last->reason == kRouting) return draft.now();
  return last->status == "True" ? std::max(ended, last->last_transition) : draft.now();
}

std::string Joined(const std::vector<Failure>& failures) {
  std::vector<api::Sentence> sentences;
  for (const Failure& failure : failures) sentences.push_back({"", failure.message});
  return api::JoinSentences(sentences);
}

}  // namespace

std::optional<Failure> FailureOfCandidate(const Draft& draft) {
  const int64_t candidate = draft.status().rollout.candidate;
  for (const NodeSeen& node : draft.observed().nodes) {
    auto failure = FailureOn(node, candidate);
    if (failure && !MayBeDueToTheNode(*failure)) return failure;
  }
  std::vector<Failure> failures;
  for (const NodeSeen* node : draft.nodes()) {
    if (auto failure = FailureOn(*node, candidate)) failures.push_back(std::move(*failure));
  }
  if (failures.empty()) return std::nullopt;
  const api::RolloutStatus& rollout = draft.status().rollout;
  const bool is_used = CarriesWeight(rollout) || IsWithoutWeight(rollout.phase);
  if (is_used && std::ranges::count(failures, kCrashed, &Failure::reason) > 1) {
    std::erase_if(failures, [](const Failure& failure) { return failure.reason != kCrashed; });
    return Failure{kCrashed, Joined(failures)};
  }
  const bool is_ready_elsewhere = std::ranges::any_of(
      draft.NodesIn(candidate, NodeState::kReady),
      [&](const std::string& node) { return std::ranges::count(failures, node, &Failure::node) == 0; });
  if (is_ready_elsewhere && static_cast<int>(failures.size()) <= UnavailableMax(draft)) return std::nullopt;
  return Failure{failures.front().reason, Joined(failures)};
}

bool IsReadyOn(const Draft& draft, int wanted) {
  const int64_t candidate = draft.status().rollout.candidate;
  const int ready = draft.ReadyNodes(candidate);
  const int tolerated = UnavailableMax(draft);
  const int bad = static_cast<int>(BadNodesOf(draft, candidate).size());
  int needed = wanted;
  if (bad <= tolerated) needed = std::min(needed, draft.NodesCount() - bad);
  if (draft.IsAfterDeadline()) needed = std::min(needed, wanted - tolerated);
  return ready > 0 && ready >= needed && ready * 2 >= wanted;
}

std::string NodesWithoutCandidate(const Draft& draft) {
  const int64_t candidate = draft.status().rollout.candidate;
  const std::vector<std::string> ready = draft.NodesIn(candidate, NodeState::kReady);
  if (draft.status().rollout.stable == 0 || static_cast<int>(ready.size()) >= draft.StableNodes()) return "";
  std::vector<Failure> failures = BadNodesOf(draft, candidate);
  for (const std::string& name : draft.Choose(candidate, draft.StableNodes())) {
    const bool is_known =
        std::ranges::binary_search(ready, name) || std::ranges::count(failures, name, &Failure::node) > 0;
    if (!is_known) failures.push_back({"NotReady", fmt::format("node {}: not ready", name), name});
  }
  return fmt::format("; it is missing on {} of {} nodes, for which the other nodes answer: {}", failures.size(),
                     draft.StableNodes(), Joined(failures));
}

std::optional<Duration> MissingNodesAreLateIn(const Draft& draft) {
  const api::ModelStatus& status = draft.status();
  const bool has_fleet = draft.observed().no_fleet.empty();
  if (status.stable_version == 0 || IsUnderWay(status.rollout.phase) || !has_fleet) return std::nullopt;
  const int bad = static_cast<int>(BadNodesOf(draft, status.stable_version).size());
  const int can_have_it = std::max(draft.observed().fleet_seen.nodes, draft.NodesCount()) - bad;
  if (draft.ReadyNodes(status.stable_version) >= std::min(draft.WantedNodes(), can_have_it)) return std::nullopt;
  return std::max(Duration(0), MissingSince(draft) + draft.policy().progress_deadline - draft.now());
}

void DescribeBadNodes(Draft& draft) {
  const api::RolloutStatus& rollout = draft.rollout();
  std::vector<int64_t> versions;
  const int64_t stable = draft.status().stable_version;
  if (stable != 0 && draft.ReadyNodes(stable) < draft.StableNodes()) versions.push_back(stable);
  // After a rollback for lack of memory, nodes go on waiting for it.
  if (IsUnderWay(rollout.phase) || rollout.verdict.reason == kNotEnoughMemory) versions.push_back(rollout.candidate);
  std::vector<Failure> failures;
  std::string where;
  for (const int64_t version : versions) {
    std::vector<Failure> bad = BadNodesOf(draft, version);
    if (bad.empty()) continue;
    where += fmt::format("{}version {} on {} of {} nodes", where.empty() ? "" : ", ", version, bad.size(),
                         draft.NodesCount());
    failures.insert(failures.end(), bad.begin(), bad.end());
  }
  if (failures.empty()) return draft.SetProblemCondition("NodesAvailable", "", "");
  draft.SetProblemCondition("NodesAvailable", "BadNodes",
                            fmt::format("not available: {}. Other nodes answer for them. A node loads the version when "
                                        "it has enough memory, when the files change, or after a restart. {}",
                                        where, Joined(failures)));
}

}  // namespace longshore::rollout
