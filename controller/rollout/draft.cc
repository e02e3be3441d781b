#include "controller/rollout/draft.h"

#include <algorithm>
#include <cmath>

namespace longshore::rollout {
namespace {

template <typename T>
void Keep(std::vector<T>& list, size_t max) {
  if (list.size() > max) list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(max));
}

// Higher is further on the way to answering requests.
int Progress(const NodeSeen& node, int64_t version) {
  const auto seen = node.versions.find(version);
  if (seen == node.versions.end()) return 0;
  switch (seen->second.state) {
    case NodeState::kReady: return 4;
    case NodeState::kWarming: return 3;
    case NodeState::kLoading: return 2;
    case NodeState::kTrial: return 1;
    default: return 0;
  }
}

}  // namespace

Draft::Draft(const api::Model& model, const Observed& observed, TimePoint now)
    : model_(model), observed_(observed), now_(now), status_(model.status) {
  for (const NodeSeen& node : observed.nodes) {
    if (!node.draining) nodes_.push_back(&node);
  }
  std::sort(nodes_.begin(), nodes_.end(), [](const NodeSeen* a, const NodeSeen* b) { return a->name < b->name; });
}

std::optional<int64_t> Draft::Target() const { return spec().version ? spec().version : observed_.latest_version; }

std::vector<std::string> Draft::NodesIn(int64_t version, NodeState state) const {
  std::vector<std::string> names;
  for (const NodeSeen* node : nodes_) {
    const auto seen = node->versions.find(version);
    if (seen != node->versions.end() && seen->second.state == state) names.push_back(node->name);
  }
  return names;
}

std::vector<std::string> Draft::Choose(int64_t version, int count) const {
  std::vector<const NodeSeen*> order = nodes_;
  std::stable_sort(order.begin(), order.end(),
                   [&](const NodeSeen* a, const NodeSeen* b) { return Progress(*a, version) > Progress(*b, version); });
  order.resize(std::min(order.size(), static_cast<size_t>(std::max(count, 0))));
  std::vector<std::string> names;
  for (const NodeSeen* node : order) names.push_back(node->name);
  std::sort(names.begin(), names.end());
  return names;
}

int Draft::StableNodes() const {
  const int all = static_cast<int>(nodes_.size());
  return std::min(spec().replicas.value_or(all), all);
}

const api::FailedVersion* Draft::FailureOf(int64_t version) const {
  for (const api::FailedVersion& failed : status_.failed) {
    if (failed.version != version || failed.generation != model_.metadata.generation) continue;
    const auto digest = status_.digests.find(version);
    const bool other_files =
        digest != status_.digests.end() && !failed.digest.empty() && digest->second != failed.digest;
    if (!other_files) return &failed;
  }
  return nullptr;
}

void Draft::Forget(int64_t version) {
  std::erase_if(status_.failed, [&](const api::FailedVersion& failed) { return failed.version == version; });
}

void Draft::Remember(int64_t version, const std::string& reason, const std::string& message) {
  Forget(version);
  const auto digest = status_.digests.find(version);
  status_.failed.push_back(
      {version, digest == status_.digests.end() ? "" : digest->second, generation(), reason, message, now_});
  Keep(status_.failed, api::kFailedMax);
}

void Draft::Trouble(const std::string& type, const std::string& reason, const std::string& message) {
  const bool known = std::ranges::count(status_.conditions, type, &api::Condition::type) > 0;
  if (reason.empty() && !known) return;
  const bool good = reason.empty();
  api::SetCondition(status_.conditions,
                    {type, good ? "True" : "False", good ? "None" : reason, message, generation(), now_});
}

void Draft::Record(const std::string& what, const std::string& message, bool warning) {
  RecordOf(status_.rollout.candidate, what, message, warning);
}

void Draft::RecordOf(int64_t version, const std::string& what, const std::string& message, bool warning) {
  status_.history.push_back({now_, version, what, message});
  Keep(status_.history, api::kHistoryMax);
  events_.push_back({warning, what, message});
}

std::string Draft::WordsOfNodes() const {
  std::string words;
  for (const NodeSeen* node : nodes_) {
    const auto seen = node->versions.find(status_.rollout.candidate);
    if (seen == node->versions.end() || seen->second.message.empty()) continue;
    words += fmt::format("; node {}: {}", node->name, seen->second.message);
  }
  return words;
}

void Draft::SetPhase(api::RolloutPhase phase) {
  status_.rollout.phase = phase;
  status_.rollout.step_started_at = now_;
  status_.rollout.paused_reason.clear();
}

void Draft::RollBack(const std::string& reason, const std::string& message, bool remember) {
  api::RolloutStatus& current = status_.rollout;
  if (remember) Remember(current.candidate, reason, message);
  current.weight_percent = 0;
  current.paused_by_command = false;
  current.verdict.result = "Fail";
  current.verdict.reason = reason;
  current.verdict.message = message;
  SetPhase(api::RolloutPhase::kRolledBack);
  Record("RolledBack", fmt::format("version {}: {}: {}", current.candidate, reason, message), remember);
}

int NodesNeeded(double weight_percent, int nodes) {
  return std::max(1, static_cast<int>(std::ceil(weight_percent / 100 * nodes - 1e-9)));
}

}  // namespace longshore::rollout
