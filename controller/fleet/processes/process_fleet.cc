#include "controller/fleet/processes/process_fleet.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

namespace longshore::fleet::processes {
namespace {

constexpr int kNodesMax = 1000;

// A namespace has no dot, so the name of the node is unique in a state directory.
std::string NodeName(const std::string& fleet, int index) {
  const size_t slash = fleet.find('/');
  return fmt::format("{}.{}-{}", fleet.substr(0, slash), fleet.substr(slash + 1), index);
}

int IndexOf(const std::string& node) { return std::atoi(node.c_str() + node.rfind('-') + 1); }

class ProcessFleet final : public Fleet {
 public:
  explicit ProcessFleet(std::unique_ptr<NamedNodes> nodes) : nodes_(std::move(nodes)) {}

  Result<Addresses> Ensure(const api::ServingFleet& fleet) override {
    const api::Metadata& metadata = fleet.metadata;
    return nodes_->EnsureListening({metadata.namespace_ + "/" + metadata.name, fleet.spec.grpc_port,
                                    fleet.spec.rest_port, fleet.spec.connection_age_max});
  }

  Status Scale(const std::string& fleet, int wanted, const std::vector<std::string>& leave_first) override {
    std::vector<NodeInfo> nodes = nodes_->Nodes(fleet);
    const int staying = CountStaying(nodes);
    RETURN_IF_ERROR(StartMissing(fleet, wanted - staying, nodes));
    std::erase_if(nodes, IsLeaving);
    const auto rank = [&](const NodeInfo& node) {
      return std::find(leave_first.begin(), leave_first.end(), node.node) - leave_first.begin();
    };
    // Nodes in `leave_first` leave first, then the others, the newest first.
    std::sort(nodes.begin(), nodes.end(), [&](const auto& a, const auto& b) {
      return std::pair(rank(a), -IndexOf(a.node)) < std::pair(rank(b), -IndexOf(b.node));
    });
    nodes.resize(static_cast<size_t>(std::clamp(staying - wanted, 0, static_cast<int>(nodes.size()))));
    return StopAll(fleet, nodes);
  }

  Status Restart(const std::string& fleet, const std::string& node) override { return nodes_->Restart(fleet, node); }

  // Each node has a record from the moment it is asked for.
  int Wanted(const std::string& fleet) const override { return CountStaying(nodes_->Nodes(fleet)); }
  std::vector<NodeInfo> Nodes(const std::string& fleet) const override { return nodes_->Nodes(fleet); }
  // A node starts with the listening sockets, so the addresses answer as soon as a node is ready.
  Progress ProgressOf(const std::string&) const override { return {}; }
  std::vector<std::string> Fleets() const override { return nodes_->Fleets(); }

  Status Remove(const std::string& fleet) override { return StopAll(fleet, nodes_->Nodes(fleet)); }

  Status StopListening(const std::string& fleet) override {
    return nodes_->Nodes(fleet).empty() ? nodes_->Forget(fleet) : nodes_->StopListening(fleet);
  }

 private:
  Status StartMissing(const std::string& fleet, int missing, const std::vector<NodeInfo>& nodes) {
    std::set<std::string> names;
    for (const NodeInfo& node : nodes) names.insert(node.node);
    for (int index = 0; missing > 0 && index < kNodesMax; ++index) {
      const std::string name = NodeName(fleet, index);
      if (names.contains(name)) continue;
      RETURN_IF_ERROR(nodes_->Start(fleet, name));
      --missing;
    }
    return {};
  }

  // Stops all nodes even if some of them fail; returns the first error.
  Status StopAll(const std::string& fleet, const std::vector<NodeInfo>& nodes) {
    Status first;
    for (const NodeInfo& node : nodes) {
      const Status stopped = nodes_->Stop(fleet, node.node);
      if (!stopped && first) first = stopped;
    }
    return first;
  }

  const std::unique_ptr<NamedNodes> nodes_;
};

}  // namespace

std::unique_ptr<Fleet> MakeProcessFleet(std::unique_ptr<NamedNodes> nodes) {
  return std::make_unique<ProcessFleet>(std::move(nodes));
}

}  // namespace longshore::fleet::processes
