#include "controller/fleet/processes/process_fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace longshore::fleet::processes {
namespace {

using testing::ElementsAre;

const std::string kFleet = "vision/cpu";

class FakeNodes final : public NamedNodes {
 public:
  Result<Addresses> EnsureListening(const Spec& spec) override {
    listening = spec.fleet;
    return Addresses{std::to_string(spec.grpc_port), std::to_string(spec.rest_port)};
  }
  Status Start(const std::string&, const std::string& node) override {
    nodes[node] = {.node = node, .pid = 1, .started_at = {}, .last_exit = {}, .trouble = {}};
    return {};
  }
  Status Stop(const std::string&, const std::string& node) override {
    if (staying.contains(node)) return Unavailable("{} cannot be stopped", node);
    nodes.at(node).state = NodeState::kStopping;
    return {};
  }
  Status Restart(const std::string&, const std::string&) override { return {}; }
  std::vector<NodeInfo> Nodes(const std::string&) const override {
    std::vector<NodeInfo> all;
    for (const auto& [_, info] : nodes) all.push_back(info);
    return all;
  }
  std::vector<std::string> Fleets() const override {
    return listening.empty() ? std::vector<std::string>{} : std::vector<std::string>{listening};
  }
  Status StopListening(const std::string&) override { return {}; }
  Status Forget(const std::string&) override {
    listening.clear();
    return {};
  }

  std::string listening;
  std::set<std::string> staying;
  std::map<std::string, NodeInfo> nodes;
};

class ProcessFleetTest : public ::testing::Test {
 protected:
  std::vector<std::string> Staying() const {
    std::vector<std::string> names;
    for (const auto& [name, info] : nodes_->nodes) {
      if (!IsLeaving(info)) names.push_back(name);
    }
    return names;
  }

  FakeNodes* nodes_ = new FakeNodes;  // Owned by `fleet_`.
  std::unique_ptr<Fleet> fleet_ = MakeProcessFleet(std::unique_ptr<NamedNodes>(nodes_));
};

TEST_F(ProcessFleetTest, ListensOnThePortsOfTheObject) {
  api::ServingFleet object;
  object.metadata.name = "cpu";
  object.metadata.namespace_ = "vision";
  object.spec.grpc_port = 1;
  object.spec.rest_port = 2;
  EXPECT_EQ(fleet_->Ensure(object)->rest, "2");
  EXPECT_THAT(fleet_->Fleets(), ElementsAre(kFleet));
}

TEST_F(ProcessFleetTest, ScalesOutWithFreeNamesAndInFromTheNewestNode) {
  ASSERT_TRUE(fleet_->Scale(kFleet, 3, {}));
  EXPECT_THAT(Staying(), ElementsAre("vision.cpu-0", "vision.cpu-1", "vision.cpu-2"));
  ASSERT_TRUE(fleet_->Scale(kFleet, 2, {}));
  EXPECT_THAT(Staying(), ElementsAre("vision.cpu-0", "vision.cpu-1"));
  EXPECT_EQ(fleet_->Wanted(kFleet), 2) << "without the leaving node";
  ASSERT_TRUE(fleet_->Scale(kFleet, 3, {}));
  EXPECT_THAT(Staying(), ElementsAre("vision.cpu-0", "vision.cpu-1", "vision.cpu-3"))
      << "the name vision.cpu-2 is still in use by a leaving node";
  ASSERT_TRUE(fleet_->Scale(kFleet, 3, {}));
  EXPECT_EQ(nodes_->nodes.size(), 4U) << "the number of nodes is already right";
}

TEST_F(ProcessFleetTest, TheNamedNodesLeaveFirst) {
  ASSERT_TRUE(fleet_->Scale(kFleet, 4, {}));
  ASSERT_TRUE(fleet_->Scale(kFleet, 1, {"vision.cpu-1", "vision.cpu-0"}));
  EXPECT_THAT(Staying(), ElementsAre("vision.cpu-2")) << "then the newest of the other nodes leaves";
}

TEST_F(ProcessFleetTest, ANodeThatCannotBeStoppedDoesNotBlockTheOthers) {
  ASSERT_TRUE(fleet_->Scale(kFleet, 4, {}));
  nodes_->staying = {"vision.cpu-3"};
  EXPECT_EQ(fleet_->Scale(kFleet, 1, {}).error().message, "vision.cpu-3 cannot be stopped");
  EXPECT_THAT(Staying(), ElementsAre("vision.cpu-0", "vision.cpu-3"));
}

TEST_F(ProcessFleetTest, ARemovedFleetGoesOnListeningUntilItIsToStop) {
  nodes_->listening = kFleet;
  ASSERT_TRUE(fleet_->Scale(kFleet, 2, {}));
  ASSERT_TRUE(fleet_->Remove(kFleet));
  EXPECT_TRUE(Staying().empty());
  ASSERT_TRUE(fleet_->StopListening(kFleet));
  EXPECT_THAT(fleet_->Fleets(), ElementsAre(kFleet)) << "it has nodes";
  nodes_->nodes.clear();
  ASSERT_TRUE(fleet_->Remove(kFleet));
  EXPECT_THAT(fleet_->Fleets(), ElementsAre(kFleet)) << "connections wait for nodes of a new fleet";
  ASSERT_TRUE(fleet_->StopListening(kFleet));
  EXPECT_TRUE(fleet_->Fleets().empty());
}

}  // namespace
}  // namespace longshore::fleet::processes
