#include "controller/reconcile/departures.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace longshore::reconcile {
namespace {

// A served name and a version.
using Version = std::pair<std::string_view, int64_t>;

// Whether the node should keep the version. If `node` is nullptr: whether any node should.
bool IsPlaced(const Placements& placements, const Version& version, const std::string* node) {
  const auto placement = placements.find(version.first);
  if (placement == placements.end()) return true;
  return std::ranges::any_of(placement->second->versions, [&](const rollout::VersionPlacement& placed) {
    return placed.version == version.second && (node == nullptr || std::ranges::binary_search(placed.nodes, *node));
  });
}

std::vector<Version> ReadyOn(const KnownNode& node) {
  std::vector<Version> versions;
  for (const control::VersionReport& version : node.view->report->versions()) {
    if (version.state() == control::VersionReport::READY)
      versions.emplace_back(version.served_name(), version.version());
  }
  return versions;
}

bool Stays(const KnownNode& node) { return node.attached && !IsDraining(node); }

// How many nodes have each version ready and keep it. Counts the nodes that stay, except those in `without`.
std::map<Version, int> HoldersOf(const std::map<std::string, KnownNode>& nodes, const std::set<std::string>& without,
                                 const Placements& placements) {
  std::map<Version, int> holders;
  for (const auto& [name, node] : nodes) {
    if (!Stays(node) || without.contains(name)) continue;
    for (const Version& version : ReadyOn(node)) {
      if (IsPlaced(placements, version, &name)) ++holders[version];
    }
  }
  return holders;
}

// The nodes that are not leaving, in the order in which they are to leave.
std::vector<std::string> OrderOf(const std::map<std::string, KnownNode>& nodes, std::vector<fleet::NodeInfo> node_infos,
                                 const Placements& placements) {
  const std::map<Version, int> holders = HoldersOf(nodes, {}, placements);
  std::map<std::string, std::pair<bool, int64_t>> ranks;  // Not chosen before; the versions that only this node has.
  for (const auto& [name, node] : nodes) {
    const std::vector<Version> ready = ReadyOn(node);
    ranks[name] = {!node.departing, std::ranges::count_if(ready, [&](const Version& version) {
                     const auto found = holders.find(version);
                     return found == holders.end() || found->second == 1;
                   })};
  }
  std::erase_if(node_infos, fleet::IsLeaving);
  const auto rank = [&](const fleet::NodeInfo& info) {
    const auto found = ranks.find(info.node);
    return found == ranks.end() ? std::pair(true, int64_t{0}) : found->second;
  };
  std::ranges::stable_sort(node_infos, [&](const auto& a, const auto& b) {
    return std::tuple(rank(a), b.started_at, b.node) < std::tuple(rank(b), a.started_at, a.node);
  });
  std::vector<std::string> names;
  for (const fleet::NodeInfo& info : node_infos) names.push_back(info.node);
  return names;
}

}  // namespace

Departures DecideDepartures(const std::map<std::string, KnownNode>& nodes, std::vector<fleet::NodeInfo> node_infos,
                            int count, const Placements& placements) {
  std::vector<std::string> order = OrderOf(nodes, std::move(node_infos), placements);
  order.resize(static_cast<size_t>(std::clamp(count, 0, static_cast<int>(order.size()))));
  Departures departures{.chosen = {order.begin(), order.end()}};
  const std::map<Version, int> holders = HoldersOf(nodes, departures.chosen, placements);
  for (const std::string& name : order) {
    const auto node = nodes.find(name);
    const std::vector<Version> ready = node == nodes.end() ? std::vector<Version>() : ReadyOn(node->second);
    const auto alone = std::ranges::find_if(ready, [&](const Version& version) {
      return !holders.contains(version) && IsPlaced(placements, version, nullptr);
    });
    if (alone == ready.end()) {
      departures.now.push_back(name);
    } else {
      departures.waiting.push_back(
          {fmt::format("node {} stays: ", name),
           fmt::format("no other node has version {} of model \"{}\" ready yet", alone->second, alone->first)});
    }
  }
  return departures;
}

std::set<std::string> LastHolders(const std::map<std::string, KnownNode>& nodes) {
  std::set<std::string> last;
  if (std::ranges::none_of(nodes, [](const auto& entry) { return IsDraining(entry.second); })) return last;
  const std::map<Version, int> holders = HoldersOf(nodes, {}, {});
  for (const auto& [name, node] : nodes) {
    if (!node.attached || !IsDraining(node)) continue;
    const std::vector<Version> ready = ReadyOn(node);
    if (std::ranges::any_of(ready, [&](const Version& version) { return !holders.contains(version); }))
      last.insert(name);
  }
  return last;
}

}  // namespace longshore::reconcile
