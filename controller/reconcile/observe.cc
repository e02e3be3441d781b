#include "controller/reconcile/observe.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace longshore::reconcile {
namespace {

rollout::NodeState StateOf(control::VersionReport::State state) {
  using control::VersionReport;
  switch (state) {
    case VersionReport::TRIAL: return rollout::NodeState::kTrial;
    case VersionReport::LOADING: return rollout::NodeState::kLoading;
    case VersionReport::WARMING: return rollout::NodeState::kWarming;
    case VersionReport::READY: return rollout::NodeState::kReady;
    case VersionReport::UNLOADING: return rollout::NodeState::kUnloading;
    case VersionReport::FAILED: return rollout::NodeState::kFailed;
    case VersionReport::QUARANTINED: return rollout::NodeState::kQuarantined;
    case VersionReport::NOT_FOUND: return rollout::NodeState::kNotFound;
    default: return rollout::NodeState::kAbsent;
  }
}

bool EndsARollout(rollout::NodeState state) {
  return state == rollout::NodeState::kFailed || state == rollout::NodeState::kQuarantined ||
         state == rollout::NodeState::kNotFound;
}

// What is there stays true in an old report; what somebody concluded from it does not.
rollout::VersionSeen WithoutVerdicts(rollout::VersionSeen seen) {
  seen.golden.reset();
  seen.guard.reset();
  if (EndsARollout(seen.state)) return {};
  return seen;
}

rollout::VersionSeen SeenOf(const control::VersionReport& report) {
  rollout::VersionSeen seen;
  seen.state = StateOf(report.state());
  seen.message = report.message();
  seen.digest = report.digest();
  if (report.has_golden()) {
    const control::GoldenResult& golden = report.golden();
    seen.golden = rollout::GoldenSeen{golden.records(), golden.passed(), golden.score(), golden.ok(), golden.message()};
  }
  if (report.guard().tripped()) seen.guard = rollout::GuardSeen{report.guard().reason(), report.guard().message()};
  return seen;
}

}  // namespace

bool IsFresh(const nodes::NodeView& view) {
  if (!view.sent) return false;
  const auto reported = std::pair(view.report->epoch(), view.report->revision());
  return reported >= std::pair(view.sent->epoch(), view.sent->revision());
}

std::vector<KnownNode> NodeMemory::Update(const std::string& fleet, const std::vector<nodes::NodeView>& views,
                                          const std::vector<fleet::NodeInfo>& processes, MonotonicPoint now) {
  auto& remembered = fleets_[fleet];
  std::set<std::string> there;
  for (const fleet::NodeInfo& process : processes) there.insert(process.node);
  std::erase_if(remembered,
                [&](const auto& entry) { return !there.contains(entry.first) || now - entry.second.at > patience_; });
  std::set<std::string> attached;
  for (const nodes::NodeView& view : views) {
    const std::string& name = view.hello.node();
    if (!there.contains(name)) continue;
    if (view.connected && view.reported) {
      remembered[name] = {view, now};
      attached.insert(name);
    }
  }
  std::vector<KnownNode> known;
  for (const auto& [name, entry] : remembered) known.push_back({entry.view, attached.contains(name)});
  return known;
}

rollout::NodeSeen SeenOf(const KnownNode& node, const std::string& served_name, bool leaving) {
  rollout::NodeSeen seen;
  seen.name = node.view.hello.node();
  seen.draining = leaving || node.view.report->draining();
  const bool fresh = IsFresh(node.view);
  for (const control::VersionReport& version : node.view.report->versions()) {
    if (version.served_name() != served_name) continue;
    seen.versions[version.version()] = fresh ? SeenOf(version) : WithoutVerdicts(SeenOf(version));
  }
  return seen;
}

std::optional<int64_t> LatestVersion(const std::vector<KnownNode>& nodes, const std::string& served_name) {
  std::optional<int64_t> latest;
  for (const KnownNode& node : nodes) {
    for (const control::VersionReport& version : node.view.report->versions()) {
      if (version.served_name() != served_name || version.state() == control::VersionReport::NOT_FOUND) continue;
      latest = std::max(latest.value_or(0), version.version());
    }
  }
  return latest;
}

bool IsReady(const KnownNode& node) {
  if (!node.attached || !node.view.sent || node.view.report->draining()) return false;
  for (const control::ModelState& model : node.view.sent->models()) {
    for (const control::VersionState& version : model.versions()) {
      if (!version.load() || version.weight_bp() == 0) continue;
      const auto& reports = node.view.report->versions();
      const bool ready = std::any_of(reports.begin(), reports.end(), [&](const auto& report) {
        return report.served_name() == model.served_name() && report.version() == version.version() &&
               report.state() == control::VersionReport::READY;
      });
      if (!ready) return false;
    }
  }
  return true;
}

std::vector<std::string> LeaveFirst(const std::vector<KnownNode>& nodes, std::vector<fleet::NodeInfo> machines) {
  using Version = std::pair<std::string, int64_t>;
  std::map<Version, int> holders;
  std::map<std::string, std::vector<Version>> held;  // By node.
  for (const KnownNode& node : nodes) {
    for (const control::VersionReport& version : node.view.report->versions()) {
      if (version.state() != control::VersionReport::READY) continue;
      ++holders[{version.served_name(), version.version()}];
      held[node.view.hello.node()].emplace_back(version.served_name(), version.version());
    }
  }
  const auto alone = [&](const fleet::NodeInfo& machine) {
    const auto& versions = held[machine.node];
    return std::count_if(versions.begin(), versions.end(),
                         [&](const Version& version) { return holders[version] == 1; });
  };
  std::erase_if(machines, fleet::IsLeaving);
  std::stable_sort(machines.begin(), machines.end(), [&](const auto& a, const auto& b) {
    return std::tuple(alone(a), b.started_at, b.node) < std::tuple(alone(b), a.started_at, a.node);
  });
  std::vector<std::string> names;
  for (const fleet::NodeInfo& machine : machines) names.push_back(machine.node);
  return names;
}

control::Peer PeerOf(const nodes::NodeView& view) {
  control::Peer peer;
  peer.set_node(view.hello.node());
  peer.set_address(view.hello.peer_address());
  for (const control::VersionReport& version : view.report->versions()) {
    if (version.state() != control::VersionReport::READY) continue;
    control::HeldVersion& held = *peer.add_ready();
    held.set_served_name(version.served_name());
    held.set_version(version.version());
  }
  return peer;
}

}  // namespace longshore::reconcile
