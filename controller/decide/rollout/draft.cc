#include "controller/decide/rollout/draft.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>

#include "common/base/text.h"
#include "common/node_contract/homes.h"
#include "controller/api/sentences.h"
#include "controller/decide/rollout/failure.h"
#include "controller/decide/rollout/warm.h"

namespace longshore::rollout {
namespace {

// Limit for one text in the history or of a failed version. A status holds up to 70 of them, and an object in a cluster
// has at most 1.5 MB.
constexpr size_t kTextBytesMax = 8192;

// Removes the oldest entries, but not those about the version that serves and the version that served before: `explain`
// shows when it began to serve, and an undo returns to the other one.
void LimitHistory(api::ModelStatus& status) {
  while (status.history.size() > api::kHistoryMax) {
    const api::HistoryEntry* serves = BeganToServe(status);
    const api::HistoryEntry* before = BeganToServe(status, PreviousOf(status).value_or(0));
    const auto oldest = std::ranges::find_if(
        status.history, [&](const api::HistoryEntry& entry) { return &entry != serves && &entry != before; });
    status.history.erase(oldest);
  }
}

// How close the version is to answering requests on this node; higher is closer.
int Progress(const NodeSeen& node, int64_t version) {
  const auto seen = node.versions.find(version);
  if (seen == node.versions.end()) return 0;
  switch (seen->second.state) {
    case NodeState::kReady: return 4;
    case NodeState::kWarming: return 3;
    case NodeState::kLoading: return 2;
    case NodeState::kRehearsal: return 1;
    default: return 0;
  }
}

}  // namespace

Draft::Draft(const api::Model& model, const Observed& observed, TimePoint now)
    : model_(model), observed_(observed), now_(now), status_(model.status) {
  for (const NodeSeen& node : observed.nodes) {
    if (!node.draining && !node.departing) nodes_.push_back(&node);
  }
  std::sort(nodes_.begin(), nodes_.end(), [](const NodeSeen* a, const NodeSeen* b) { return a->name < b->name; });
  fleet_ = observed.fleet;
  if (fleet_) return;
  std::vector<std::string> names;
  for (const NodeSeen* node : nodes_) names.push_back(node->name);
  fleet_ = MakeNodeNames(std::move(names));
}

bool Draft::KeepsRoutes() const {
  return before().stable_version == status_.stable_version && before().rollout.phase == status_.rollout.phase &&
         before().observed_generation == generation();
}

std::optional<int64_t> Draft::Target() const { return spec().version ? spec().version : observed_.latest_version; }

// Nodes that have not connected may exist, for example as pods that are pending.
std::string Draft::WhyNoNodes() const {
  if (!observed_.no_fleet.empty()) return observed_.no_fleet;
  const std::string& trouble = observed_.fleet_trouble;
  return fmt::format("no node of fleet {} is connected{}{}", model_.spec.fleet, trouble.empty() ? "" : "; ", trouble);
}

std::optional<Duration> Draft::FleetIsMissedIn() const {
  constexpr Duration kPatience = std::chrono::seconds(10);
  if (observed_.no_fleet.empty()) return std::nullopt;
  const auto found = std::ranges::find(model_.status.conditions, "FleetFound", &api::Condition::type);
  const bool known = found != model_.status.conditions.end() && found->status == "False";
  return std::max(Duration(0), (known ? found->last_transition : now_) + kPatience - now_);
}

std::vector<std::string> Draft::NodesIn(int64_t version, NodeState state) const {
  std::vector<std::string> names;
  for (const NodeSeen* node : nodes_) {
    const auto seen = node->versions.find(version);
    if (seen != node->versions.end() && seen->second.state == state) names.push_back(node->name);
  }
  return names;
}

std::vector<std::string> Draft::ReadyOnDeparting(int64_t version) const {
  std::vector<std::string> names;
  for (const NodeSeen& node : observed_.nodes) {
    const auto seen = node.versions.find(version);
    const bool is_ready = seen != node.versions.end() && seen->second.state == NodeState::kReady;
    if (is_ready && node.departing && !node.draining) names.push_back(node.name);
  }
  return names;
}

std::vector<std::string> Draft::Answering(int64_t version) const {
  std::vector<std::string> names = NodesIn(version, NodeState::kReady);
  if (!names.empty()) return names;
  for (const NodeSeen& node : observed_.nodes) {
    const auto seen = node.versions.find(version);
    if (seen != node.versions.end() && seen->second.state == NodeState::kReady) names.push_back(node.name);
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> Draft::Choose(int64_t version, int count) const {
  if (count >= NodesCount()) return fleet_->names;
  const uint64_t model = node_contract::HashOfName(spec().served_name);
  // A candidate prefers nodes with stable: only a node that runs both versions can show whether the candidate is worse.
  const int64_t paired = version == status_.rollout.candidate ? status_.rollout.stable : 0;
  std::vector<std::tuple<int, int, uint64_t, std::string_view>> order;
  std::set<std::string_view> left_out;
  for (const NodeSeen* node : nodes_) {
    if (CannotHold(*node, version)) left_out.insert(node->name);
    const int progress = Progress(*node, version);
    const int paired_progress = paired == 0 ? 0 : Progress(*node, paired);
    if (progress + paired_progress > 0 && !left_out.contains(node->name))
      order.emplace_back(progress, paired_progress,
                         node_contract::Nearness(node_contract::HashOfName(node->name), model), node->name);
  }
  std::ranges::sort(order, std::greater<>());
  std::vector<std::string> names;
  for (const auto& [progress, paired_progress, nearness, name] : order) {
    if (static_cast<int>(names.size()) < count) names.emplace_back(name);
  }
  // Adds other nodes, nearest first. Some of the nearest may be in `names` already or be left out, so this asks for
  // more than `count`.
  const size_t nearest = static_cast<size_t>(std::max(count, 0)) + order.size() + left_out.size();
  for (const size_t i : node_contract::Nearest(fleet_->hashes, model, nearest)) {
    if (static_cast<int>(names.size()) >= count) break;
    const std::string& name = fleet_->names[i];
    if (!left_out.contains(name) && std::ranges::count(names, name) == 0) names.push_back(name);
  }
  const bool has_enough = ReadyNodes(version) >= count;
  for (const NodeSeen* node : nodes_) {
    const bool waits_for_memory = left_out.contains(node->name) && MemoryLackOn(*node, version);
    if (left_out.contains(node->name) && !(waits_for_memory && has_enough)) names.push_back(node->name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

int Draft::StableNodes() const { return std::min(spec().replicas.value_or(NodesCount()), NodesCount()); }

int Draft::WantedNodes() const {
  const int nodes = std::max(observed_.fleet_seen.nodes, NodesCount());
  return std::min(spec().replicas.value_or(nodes), nodes);
}

int Draft::ShareOf(int nodes, double percent) {
  return std::max(1, static_cast<int>(std::ceil(percent / 100 * nodes - 1e-9)));
}

std::optional<Draft::SourceProblem> Draft::FindSourceProblem() const {
  const std::string& sha256 = spec().source_sha256;
  const auto serves = status_.sources.find(status_.stable_version);
  if (serves != status_.sources.end() && Target() == status_.stable_version && serves->second.sha256 != sha256 &&
      serves->second.sha256 + sha256 != "") {
    return SourceProblem{
        "OtherSource",
        fmt::format("version {} already serves from {}; the files of a version never change: give the files from "
                    "{} another version number",
                    status_.stable_version, serves->second.uri, spec().source_uri)};
  }
  return sha256.empty() ? ProblemOfFolder() : ProblemOfArchive();
}

// Nodes report on a folder only if they cannot use it. A report about an earlier folder of the model says nothing.
std::optional<Draft::SourceProblem> Draft::ProblemOfFolder() const {
  std::vector<api::Sentence> without;
  for (const NodeSeen* node : nodes_) {
    if (!node->source || !node->source->sha256.empty() || node->source->state != SourceState::kFailed) continue;
    if (!node->source->uri.empty() && node->source->uri != spec().source_uri) continue;
    without.push_back({fmt::format("node {}: ", node->name), node->source->message});
  }
  if (without.empty()) return std::nullopt;
  return SourceProblem{.reason = "WrongFolder",
                       .message = api::JoinSentences(without, {.count_max = kNodesNamedMax}),
                       .is_on_no_node = without.size() == nodes_.size()};
}

std::optional<Draft::SourceProblem> Draft::ProblemOfArchive() const {
  SourceProblem problem{.reason = "Fetching", .message = "", .is_on_no_node = true};
  std::vector<api::Sentence> without;
  for (const NodeSeen* node : nodes_) {
    // The node has not received this source yet, or does not need it.
    if (!node->source || node->source->sha256 != spec().source_sha256) continue;
    if (node->source->state == SourceState::kReady) problem.is_on_no_node = false;
    if (node->source->state == SourceState::kReady) continue;
    if (node->source->state == SourceState::kFailed) problem.reason = "FetchFailed";
    without.push_back({fmt::format("node {}: ", node->name), node->source->message});
  }
  problem.message = api::JoinSentences(without, {.count_max = kNodesNamedMax});
  if (without.empty() && !problem.is_on_no_node) return std::nullopt;
  if (without.empty()) problem.message = fmt::format("no node has reported on {} yet", spec().source_uri);
  return problem;
}

bool Draft::HasOtherFiles(const api::FailedVersion& failed) const {
  return observed_.other_files.contains(failed.version) && !api::IsByAPerson(failed.reason);
}

const api::FailedVersion* Draft::FailureOf(int64_t version) const {
  for (const api::FailedVersion& failed : status_.failed) {
    if (failed.version != version || failed.generation != model_.metadata.generation) continue;
    const bool awaits_memory = failed.reason == kNotEnoughMemory && version == status_.rollout.candidate;
    const bool has_room = awaits_memory && version == Target() && HasMoreRoom();
    if (!HasOtherFiles(failed) && !has_room) return &failed;
  }
  return nullptr;
}

bool Draft::FewerLackMemory() const {
  const auto before = status_.rollout.verdict.numbers.find(kNodesWithoutMemory);
  const auto lack = std::ranges::count_if(
      observed_.nodes, [&](const NodeSeen& node) { return MemoryLackOn(node, status_.rollout.candidate).has_value(); });
  return before != status_.rollout.verdict.numbers.end() && static_cast<double>(lack) < before->second;
}

std::vector<std::string> Draft::NodesThatAwaitMemory() const {
  const int64_t candidate = status_.rollout.candidate;
  std::vector<std::string> names = NodesIn(candidate, NodeState::kNoMemory);
  if (!FewerLackMemory()) return names;
  for (const NodeState state : {NodeState::kRehearsal, NodeState::kLoading}) {
    const std::vector<std::string> trying = NodesIn(candidate, state);
    names.insert(names.end(), trying.begin(), trying.end());
  }
  std::ranges::sort(names);
  return names;
}

bool Draft::HasMoreRoom() const {
  if (!FewerLackMemory()) return false;
  const int64_t candidate = status_.rollout.candidate;
  const bool one_got_it = !NodesIn(candidate, NodeState::kWarming).empty() || ReadyNodes(candidate) > 0;
  const bool one_lacks_it = std::ranges::any_of(
      observed_.nodes, [&](const NodeSeen& node) { return MemoryLackOn(node, candidate).has_value(); });
  return one_got_it || (!one_lacks_it && NodesThatAwaitMemory().empty());
}

bool Draft::IsLabelled(int64_t version) const {
  const auto names = [&](const auto& label) { return label.second == version; };
  return FailureOf(version) == nullptr && std::ranges::any_of(spec().version_labels, names);
}

void Draft::Forget(int64_t version) {
  std::erase_if(status_.failed, [&](const api::FailedVersion& failed) { return failed.version == version; });
}

void Draft::Remember(int64_t version, const std::string& reason, const std::string& message) {
  Forget(version);
  const auto digest = status_.digests.find(version);
  status_.failed.push_back({version, digest == status_.digests.end() ? "" : digest->second, generation(), reason,
                            CutText(message, kTextBytesMax), now_});
  if (status_.failed.size() > api::kFailedMax) status_.failed.erase(status_.failed.begin());
}

void Draft::SetProblemCondition(const std::string& type, const std::string& reason, const std::string& message) {
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
  const std::string text = CutText(message, kTextBytesMax);
  status_.history.push_back({now_, version, what, text});
  LimitHistory(status_);
  events_.push_back({warning, what, text, status_.rollout.weight_percent});
}

std::string Draft::ReportsOn(int64_t version) const {
  std::vector<api::Sentence> reports;
  for (const NodeSeen* node : nodes_) {
    const auto seen = node->versions.find(version);
    if (const auto lack = MemoryLackOn(*node, version)) reports.push_back({"", lack->message});
    if (seen == node->versions.end() || seen->second.state == NodeState::kNoMemory) continue;
    if (seen->second.message.empty()) continue;
    reports.push_back({fmt::format("node {}: ", node->name), seen->second.message});
  }
  return api::JoinSentences(reports);
}

std::string Draft::ReportsFor(int64_t version) const {
  const std::string reports = ReportsOn(version);
  return reports.empty() ? "" : "; " + reports;
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
  current.verdict.message = CutText(message, kTextBytesMax);
  SetPhase(api::RolloutPhase::kRolledBack);
  Record("RolledBack", fmt::format("version {}: {}: {}", current.candidate, reason, message), remember);
}

std::shared_ptr<const NodeNames> MakeNodeNames(std::vector<std::string> names) {
  auto made = std::make_shared<NodeNames>();
  for (const std::string& name : names) made->hashes.push_back(node_contract::HashOfName(name));
  made->names = std::move(names);
  return made;
}

}  // namespace longshore::rollout
