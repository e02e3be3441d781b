#include "controller/reconcile/fleet_status.h"

#include <gmock/gmock.h>

#include <memory>

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

// Nodes that are ready, by the name of their pod.
std::map<std::string, KnownNode> ReadyNodes(int count) {
  std::map<std::string, KnownNode> nodes;
  for (int i = 0; i < count; ++i) {
    auto view = std::make_shared<nodes::NodeView>();
    nodes::Unshared(view->report);
    nodes[Pod(i, "").node] = {.view = view, .attached = true, .ready = true};
  }
  return nodes;
}

// A fleet whose existing nodes are all ready.
FleetSeen SeenReady(const std::map<std::string, KnownNode>& nodes, int wanted) {
  FleetSeen seen{.nodes = &nodes, .addresses = fleet::Addresses{}, .wanted = wanted};
  for (size_t i = 0; i < nodes.size(); ++i) seen.processes.push_back(Pod(static_cast<int>(i), ""));
  return seen;
}

const api::Condition& ConditionOf(const api::ServingFleetStatus& status, const std::string& type) {
  return *std::ranges::find(status.conditions, type, &api::Condition::type);
}

TEST(DescribeFleet, AReservedNameIsTheReasonOfAllThatIsFalse) {
  const std::map<std::string, KnownNode> no_nodes;
  const FleetSeen seen{.nodes = &no_nodes, .addresses = AlreadyExists("the name \"nodes\" is reserved"), .wanted = 1};
  const api::ServingFleetStatus status = DescribeFleet({}, seen, TimePoint(std::chrono::seconds(1)));
  for (const char* type : {"Listening", "Ready", "Stalled"}) {
    EXPECT_EQ(ConditionOf(status, type).reason, "ReservedName") << type;
    EXPECT_EQ(ConditionOf(status, type).message, "the name \"nodes\" is reserved") << type;
  }
  EXPECT_EQ(ConditionOf(status, "Stalled").status, "True");
  EXPECT_EQ(ConditionOf(status, "Reconciling").status, "False");
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

TEST(DescribeFleet, NamesTheNodesThatCannotWriteTheirDisks) {
  auto nodes = ReadyNodes(2);
  FleetSeen seen = SeenReady(nodes, 2);
  EXPECT_EQ(ConditionOf(DescribeFleet({}, seen, {}), "StorageWritable").status, "True");
  auto view = std::make_shared<nodes::NodeView>(*nodes.at("cpu-001").view);
  control::StorageProblem& problem = *nodes::Unshared(view->report).add_storage();
  problem.set_what("journal");
  problem.set_message("cannot write /s/journal.json: No space left on device");
  nodes.at("cpu-001").view = view;
  const api::ServingFleetStatus status = DescribeFleet({}, seen, {});
  EXPECT_EQ(ConditionOf(status, "StorageWritable").status, "False");
  EXPECT_EQ(ConditionOf(status, "StorageWritable").reason, "CannotWrite");
  EXPECT_EQ(ConditionOf(status, "StorageWritable").message,
            "cpu-001 cannot write its journal: cannot write /s/journal.json: No space left on device");
  EXPECT_EQ(ConditionOf(status, "Ready").status, "True") << "the node serves";
  EXPECT_EQ(ConditionOf(status, "Stalled").status, "False");
}

TEST(DescribeFleet, WhetherDisksCanBeWrittenIsUnknownUntilANodeReports) {
  const std::map<std::string, KnownNode> none;
  FleetSeen seen{.nodes = &none, .addresses = fleet::Addresses{}, .wanted = 1};
  seen.processes = {Pod(0, "Unschedulable: persistentvolumeclaim \"models\" not found")};
  const api::Condition storage = ConditionOf(DescribeFleet({}, seen, {}), "StorageWritable");
  EXPECT_EQ(storage.status, "Unknown");
  EXPECT_EQ(storage.reason, "NoReports");
  EXPECT_THAT(ConditionOf(DescribeFleet({}, seen, {}), "ModelsReadable").message, EndsWith("the files of models)"));
  const auto nodes = ReadyNodes(1);
  EXPECT_EQ(ConditionOf(DescribeFleet({}, SeenReady(nodes, 2), {}), "StorageWritable").status, "True");
}

TEST(DescribeFleet, WhetherDisksCanBeWrittenIsAsBeforeWhileNodesReturnToANewController) {
  const std::map<std::string, KnownNode> none;
  FleetSeen seen{.nodes = &none, .returning = {"cpu-001"}, .addresses = fleet::Addresses{}, .wanted = 2};
  seen.processes = {Pod(0, ""), Pod(1, "")};
  api::ServingFleet before;
  const auto storage = [&] {
    return ConditionOf(DescribeFleet(before, seen, TimePoint() + std::chrono::hours(1)), "StorageWritable");
  };
  EXPECT_EQ(storage().status, "Unknown") << "nothing was known before";
  before.status.conditions = {{"StorageWritable", "False", "CannotWrite", "cpu-001 cannot write", 0, TimePoint()}};
  EXPECT_EQ(storage(), before.status.conditions[0]);
  seen.returning.clear();
  EXPECT_EQ(storage().status, "Unknown") << "they have not returned";
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

TEST(DescribeFleet, ANodeThatDoesNotExistYetIsNotReady) {
  const auto nodes = ReadyNodes(2);
  api::ServingFleet fleet;
  fleet.metadata.generation = 7;
  const api::ServingFleetStatus status = DescribeFleet(fleet, SeenReady(nodes, 3), TimePoint());
  EXPECT_EQ(ConditionOf(status, "Ready").status, "False");
  EXPECT_EQ(ConditionOf(status, "Ready").message, "2 of 3 nodes are ready");
  EXPECT_EQ(ConditionOf(status, "Reconciling").status, "True");
  for (const api::Condition& condition : status.conditions) EXPECT_EQ(condition.observed_generation, 7);
}

TEST(DescribeFleet, IsReadyOnceItsNodesAreThoseOfTheSpecAndItsAddressAnswers) {
  const auto nodes = ReadyNodes(2);
  FleetSeen seen = SeenReady(nodes, 2);
  const auto ready = [&] {
    const auto status = DescribeFleet({}, seen, TimePoint());
    EXPECT_NE(ConditionOf(status, "Ready").status, ConditionOf(status, "Reconciling").status);
    return ConditionOf(status, "Ready");
  };
  EXPECT_EQ(ready().reason, "AllNodesReady");
  seen.progress.unchecked = "a right is missing";
  EXPECT_EQ(ready().reason, "AllNodesReady");
  EXPECT_EQ(ready().message, "2 of 2 nodes are ready; a right is missing");
  seen.progress.unreachable = "Service s has no pod";
  EXPECT_EQ(ready().reason, "NotReachable");
  EXPECT_EQ(ready().message, "2 of 2 nodes are ready; Service s has no pod");
  seen.progress.unfinished = "1 of 2 pods are of the newest spec";
  EXPECT_EQ(ready().reason, "NodesNotAsWanted");
  EXPECT_EQ(ready().message, "2 of 2 nodes are ready; 1 of 2 pods are of the newest spec");
}

TEST(DescribeFleet, ANodeThatDoesNotAnswerIsNamedAndNotTheEndOfItsFormerProcess) {
  const auto nodes = ReadyNodes(2);
  FleetSeen seen = SeenReady(nodes, 2);
  seen.processes[1].last_exit = "was killed by signal 9 (SIGKILL)";
  seen.processes[1].pid = 7;
  seen.silent = {"cpu-001"};
  const api::ServingFleetStatus status = DescribeFleet({}, seen, TimePoint());
  EXPECT_EQ(status.nodes[1].state, "NotAnswering");
  EXPECT_EQ(ConditionOf(status, "Ready").message,
            "1 of 2 nodes are ready; cpu-001 does not answer, although its process 7 runs");
  seen.silent.clear();
  seen.unconnected = {"cpu-001"};
  seen.processes[1].node = "cpu-001";
  const auto nodes_left = ReadyNodes(1);
  seen.nodes = &nodes_left;
  const api::ServingFleetStatus answers = DescribeFleet({}, seen, TimePoint());
  EXPECT_EQ(answers.nodes[1].state, "Starting") << "it waits for the controller";
  EXPECT_EQ(ConditionOf(answers, "Ready").message,
            "1 of 2 nodes are ready; cpu-001 has no stream to the controller, although its process 7 answers");
}

TEST(DescribeFleet, ANodeThatReturnsToANewControllerIsAsItWasBefore) {
  const std::map<std::string, KnownNode> none;
  FleetSeen seen{.nodes = &none, .returning = {"cpu-000", "cpu-001", "cpu-002"}, .addresses = fleet::Addresses{}};
  seen.wanted = 3;
  for (int i = 0; i < 3; ++i) seen.processes.push_back(Pod(i, ""));
  api::ServingFleet before;
  before.status.nodes = {{"cpu-000", 0, "Ready", "a:1"}, {"cpu-001", 7, "Ready", "b:1"}};
  const auto status = DescribeFleet(before, seen, TimePoint());
  EXPECT_EQ(status.nodes[0], before.status.nodes[0]);
  EXPECT_EQ(status.nodes[1].state, "Starting") << "another process";
  EXPECT_EQ(status.nodes[2].state, "Starting") << "it is new";
  seen.processes[0].state = fleet::NodeState::kBackingOff;
  EXPECT_EQ(DescribeFleet(before, seen, TimePoint()).nodes[0].state, "Restarting");
  seen.processes[0].state = fleet::NodeState::kRunning;
  seen.returning.clear();
  EXPECT_EQ(DescribeFleet(before, seen, TimePoint()).ready_replicas, 0);
}

TEST(DescribeFleet, ANodeThatALongStatusLeavesOutWasReady) {
  const std::map<std::string, KnownNode> none;
  FleetSeen seen{.nodes = &none, .returning = {"cpu-100"}, .addresses = fleet::Addresses{}};
  seen.processes = {Pod(100, "")};
  api::ServingFleet before;
  for (int i = 0; i < 100; ++i) before.status.nodes.push_back({Pod(i, "").node, 0, "Ready", ""});
  EXPECT_EQ(DescribeFleet(before, seen, TimePoint()).ready_replicas, 1);
}

TEST(DescribeFleet, ReconcilesWhileNodesLeave) {
  const auto nodes = ReadyNodes(3);
  const api::ServingFleetStatus status = DescribeFleet({}, SeenReady(nodes, 2), TimePoint());
  EXPECT_EQ(ConditionOf(status, "Ready").status, "True");
  EXPECT_EQ(ConditionOf(status, "Reconciling").status, "True");
  EXPECT_EQ(ConditionOf(status, "Reconciling").reason, "NodesLeave");
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
