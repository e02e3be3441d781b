#include "controller/reconcile/fleet_status.h"

#include <gmock/gmock.h>

#include "common/base/text.h"

namespace longshore::reconcile {
namespace {

using testing::EndsWith;
using testing::StartsWith;

constexpr size_t kMessageBytesMax = 8192;  // Far below the limit in the CRDs, so that all messages fit into one object.

fleet::NodeInfo Pod(int number, const std::string& trouble, const std::string& last_exit = "") {
  fleet::NodeInfo pod;
  pod.node = fmt::format("cpu-{:03}", number);
  pod.trouble = trouble;
  pod.last_exit = last_exit;
  return pod;
}

const api::Condition& ConditionOf(const api::ServingFleetStatus& status, const std::string& type) {
  return *std::ranges::find(status.conditions, type, &api::Condition::type);
}

TEST(DescribeFleet, LimitsTheMessagesOfAFleetWith130FailingPods) {
  const std::map<std::string, KnownNode> no_nodes;
  FleetSeen seen{.nodes = &no_nodes};
  for (int i = 0; i < 130; ++i) {
    seen.processes.push_back(Pod(i, fmt::format("Pending: {:x>240}", i), std::string(250, 'y')));
    seen.unreadable.push_back({fmt::format("Model default/m{}: ", i), std::string(250, 'z')});
  }
  const api::ServingFleetStatus status = DescribeFleet({}, seen, TimePoint(std::chrono::seconds(1)));
  for (const api::Condition& condition : status.conditions) {
    EXPECT_LE(condition.message.size(), kMessageBytesMax) << condition.type;
  }
  EXPECT_THAT(ConditionOf(status, "Scaled").message, StartsWith("cpu-000: Pending: xxx"));
  EXPECT_THAT(ConditionOf(status, "Scaled").message, EndsWith(" more nodes"));
  EXPECT_THAT(ConditionOf(status, "Ready").message, StartsWith("0 of 130 nodes are ready; cpu-000 yyy"));
  EXPECT_THAT(ConditionOf(status, "ModelsReadable").message, EndsWith(" more Models"));
}

TEST(DescribeFleet, ANodeThatWaitsForOthersToTakeOverItsVersionsNeedsNoHelp) {
  const std::map<std::string, KnownNode> no_nodes;
  FleetSeen seen{.nodes = &no_nodes, .addresses = fleet::Addresses{}, .departing = {{"node a stays: ", "why"}}};
  const api::ServingFleetStatus status = DescribeFleet({}, seen, TimePoint(std::chrono::seconds(1)));
  EXPECT_EQ(ConditionOf(status, "Scaled").status, "False");
  EXPECT_EQ(ConditionOf(status, "Scaled").reason, "VersionsMove");
  EXPECT_EQ(ConditionOf(status, "Scaled").message, "node a stays: why");
  EXPECT_EQ(ConditionOf(status, "Reconciling").status, "True");
  EXPECT_EQ(ConditionOf(status, "Stalled").status, "False");
}

TEST(DescribeFleet, WritesValidUtf8ForAnyMessageOfNodesAndServers) {
  const std::map<std::string, KnownNode> no_nodes;
  std::string chinese = "a";
  while (chinese.size() < 50'000) chinese += "模";
  FleetSeen seen{.nodes = &no_nodes};
  seen.addresses = Unavailable("{}", chinese);
  seen.scaled = Unavailable("{}\xFF", chinese);
  seen.processes = {Pod(0, "bytes \xE6\xA8")};
  const api::ServingFleetStatus status = DescribeFleet({}, seen, TimePoint(std::chrono::seconds(1)));
  for (const api::Condition& condition : status.conditions) {
    EXPECT_LE(condition.message.size(), api::kConditionMessageBytesMax) << condition.type;
    EXPECT_EQ(ValidUtf8(condition.message), condition.message) << condition.type;
  }
}

}  // namespace
}  // namespace longshore::reconcile
