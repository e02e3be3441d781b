#include "controller/reconcile/fleet_reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/reconcile/testing.h"
#include "controller/store/document.h"

namespace longshore::reconcile {
namespace {

class AutoscaledFleet : public ReconcilerTest {
 protected:
  // Starts a fleet of `count` nodes that serve version 1 of the models "fast", "slow" and "free".
  void StartNodes(int count) {
    ApplyFleet(count, {{"queueDelay", "10ms"}, {"utilization", "70%"}});
    Settle();
    AttachAll();
    Settle();
    Settle();  // Autoscaling uses the nodes that the previous reconciliation has seen.
  }
  void ApplyFleet(int min, const Json& autoscaling) {
    Json spec = {{"replicas", {{"min", min}, {"max", 10}}}};
    if (!autoscaling.is_null()) spec["autoscaling"] = autoscaling;
    if (autoscaling.is_null()) spec["replicas"]["max"] = min;
    Apply(api::kServingFleetKind, "cpu", spec);
  }
  void ApplyModelWithTarget(const std::string& name, const std::string& target, double quantile) {
    Apply(api::kModelKind, name,
          {{"fleet", "cpu"},
           {"source", {{"uri", "file:///models/" + name}}},
           {"version", 1},
           {"slo", {{"latency", {{"quantile", quantile}, {"target", target}}}}}});
    due_.insert(ModelKey(name));
  }
  // Sets signals that ask for the nodes which these requests per second need. A node can run 100 of them.
  void SetDemand(double requests_per_second, double queue_delay_seconds) {
    const auto value = [](double number) { return autoscale::Signal{autoscale::Presence::kValue, number, {}}; };
    metrics_.utilization = value(0.7);
    metrics_.queue_delay_seconds = value(queue_delay_seconds);
    metrics_.demand = {value(requests_per_second), value(100), value(0)};
    metrics_.nodes_measured = static_cast<int>(nodes_.views.size());
  }
  void AttachAll() {
    for (const auto& [node, _] : processes_.nodes) nodes_.Attach(node, {{"fast", 1}, {"slow", 1}, {"free", 1}});
  }
  // Whether the last message to the node about the model tells it to load a version.
  bool Loads(const std::string& node, const std::string& model) {
    for (auto message = nodes_.messages[node].rbegin(); message != nodes_.messages[node].rend(); ++message) {
      if (message->change().served_name() == model) return Loads(message->change().model());
      for (const control::ModelState& state : message->snapshot().state().models()) {
        if (state.served_name() == model) return Loads(state);
      }
    }
    return false;
  }
  static bool Loads(const control::ModelState& state) {
    return std::ranges::any_of(state.versions(), [](const auto& version) { return version.load(); });
  }
  api::AutoscaleStatus Decision() {
    return api::ServingFleetStatusFromJson(disk_->Get(kFleetKey)->status).value().autoscale;
  }
};

TEST_F(AutoscaledFleet, AsksForTheLatencyOfEachModelWithATargetAndAStableVersion) {
  ApplyModelWithTarget("fast", "20ms", 0.99);
  ApplyModelWithTarget("slow", "500ms", 0.5);
  ApplyModelWithTarget("starting", "70ms", 0.99);  // No node has loaded it, so it has no stable version.
  ApplyModel("free");
  StartNodes(2);
  ASSERT_EQ(StatusOf("fast").stable_version, 1);
  ASSERT_EQ(StatusOf("starting").stable_version, 0);
  Settle();
  ASSERT_FALSE(queries_.empty());
  EXPECT_EQ(queries_.back().fleet, kFleet);
  EXPECT_THAT(queries_.back().latencies,
              ::testing::UnorderedElementsAre(signals::LatencyObjective{"fast", 0.99, std::chrono::milliseconds(20)},
                                              signals::LatencyObjective{"slow", 0.5, std::chrono::milliseconds(500)}));
  const size_t sources = queries_.size();
  Settle();
  EXPECT_EQ(queries_.size(), sources) << "the same query keeps its source";
}

// With a utilization of 90 % and a target of 70 %, the load of four nodes needs five nodes. If the metrics cover only
// two of the four nodes, the other two may be idle.
TEST_F(AutoscaledFleet, TheDecisionCountsTheNodesThatTheMetricsCover) {
  ApplyModel("free");
  metrics_.utilization = {autoscale::Presence::kValue, 0.9, {}};
  metrics_.queue_delay_seconds = {autoscale::Presence::kIdle, 0, {}};
  metrics_.nodes_measured = 2;
  metrics_.nodes_missing = 2;
  StartNodes(4);
  EXPECT_EQ(ready_nodes_, 4U);
  EXPECT_EQ(Decision().desired, 4) << Decision().message;
  metrics_.nodes_measured = 4;
  metrics_.nodes_missing = 0;
  Settle();
  EXPECT_EQ(Decision().desired, 5) << Decision().message;
}

TEST_F(AutoscaledFleet, WithoutASourceOfMetricsItKeepsItsSizeAndRequestsTheSourceAgain) {
  ApplyModel("free");
  has_source_ = false;
  metrics_.utilization = {autoscale::Presence::kValue, 0.9, {}};
  metrics_.queue_delay_seconds = {autoscale::Presence::kIdle, 0, {}};
  metrics_.nodes_measured = 4;
  StartNodes(4);
  EXPECT_EQ(Decision().desired, 4) << Decision().message;
  const size_t requests = queries_.size();
  Settle();
  EXPECT_GT(queries_.size(), requests);
  has_source_ = true;
  Settle();
  EXPECT_EQ(Decision().desired, 5) << Decision().message;
}

// Each of the two nodes alone has one model. The last one is to leave, and the first one loads its model before.
TEST_F(AutoscaledFleet, ANodeThatAloneHasAVersionLeavesAfterAnotherNodeHasIt) {
  for (const char* name : {"fast", "slow"}) {
    Apply(api::kModelKind, name,
          {{"fleet", "cpu"},
           {"source", {{"uri", fmt::format("file:///models/{}", name)}}},
           {"version", 1},
           {"replicas", 1}});
    due_.insert(ModelKey(name));
  }
  ApplyFleet(2, nullptr);
  Settle();
  nodes_.Attach("default.cpu-0", {{"fast", 1}});
  nodes_.Attach("default.cpu-1", {{"slow", 1}});
  Settle();
  ASSERT_EQ(StatusOf("fast").stable_version, 1);
  ASSERT_EQ(StatusOf("slow").stable_version, 1);
  ApplyFleet(1, nullptr);
  Settle();
  EXPECT_EQ(processes_.nodes.size(), 2U);
  EXPECT_EQ(ConditionOf("Scaled"),
            "False: VersionsMove: node default.cpu-1 stays: no other node has version 1 of model \"slow\" ready yet");
  EXPECT_TRUE(Loads("default.cpu-0", "slow"));
  EXPECT_TRUE(Loads("default.cpu-1", "slow"));
  nodes_.Attach("default.cpu-0", {{"fast", 1}, {"slow", 1}});
  Settle();
  ASSERT_EQ(processes_.nodes.size(), 1U);
  EXPECT_TRUE(processes_.nodes.contains("default.cpu-0"));
  EXPECT_EQ(ConditionOf("Scaled"), "True: NodesAsWanted: ");
}

// While Kubernetes replaces the pods of a fleet, one pod more than wanted exists. It must get the versions before
// another pod stops.
TEST_F(AutoscaledFleet, APodThatReplacesAnotherOneIsNotTooMany) {
  ApplyModel("free");
  ApplyFleet(2, nullptr);
  Settle();
  AttachAll();
  Settle();
  processes_.nodes["default.cpu-new"] = {
      .node = "default.cpu-new", .started_at = clock_.Now(), .last_exit = {}, .trouble = {}};
  processes_.surplus = 1;
  nodes_.Attach("default.cpu-new");
  Settle();
  EXPECT_TRUE(Loads("default.cpu-new", "free"));
  EXPECT_EQ(processes_.Wanted(kFleet), 2);
  EXPECT_EQ(ConditionOf("Scaled"), "True: NodesAsWanted: ");
}

// If the node were used again, the other nodes could unload the versions that they have taken over from it.
TEST_F(AutoscaledFleet, ANodeThatWasReleasedDepartsUntilItStops) {
  ApplyModel("free");
  ApplyFleet(4, nullptr);
  Settle();
  AttachAll();
  Settle();
  processes_.stops_late = true;
  ApplyFleet(3, nullptr);
  Settle();
  ASSERT_EQ(processes_.Wanted(kFleet), 3);
  ApplyModel("late");
  nodes_.Attach("default.cpu-0", {{"fast", 1}, {"slow", 1}, {"free", 1}, {"late", 1}});
  Settle();
  Settle();
  EXPECT_EQ(processes_.Wanted(kFleet), 3) << "no other node is released in its place";
  EXPECT_TRUE(Loads("default.cpu-1", "late"));
  EXPECT_FALSE(Loads("default.cpu-3", "late"));
  ApplyFleet(2, nullptr);
  Settle();
  EXPECT_EQ(processes_.Wanted(kFleet), 2) << "one more node is released";
}

// The peers would otherwise not know the address of the last node that can answer.
TEST_F(AutoscaledFleet, ADrainingNodeIsAPeerWhileItAloneHasAVersionReady) {
  ApplyModel("free");
  StartNodes(2);
  const auto peers = [&] {
    std::vector<std::string> names;
    for (const control::Peer& peer : nodes_.views.at("default.cpu-0").sent->fleet->state.peers())
      names.push_back(peer.node());
    return names;
  };
  ASSERT_EQ(peers().size(), 2U);
  nodes_.Attach("default.cpu-0");
  nodes::Unshared(nodes_.views.at("default.cpu-1").report).set_draining(true);
  Settle();
  EXPECT_EQ(peers().size(), 2U);
  nodes_.Attach("default.cpu-0", {{"fast", 1}, {"slow", 1}, {"free", 1}});
  Settle();
  EXPECT_THAT(peers(), ::testing::ElementsAre("default.cpu-0"));
}

TEST_F(AutoscaledFleet, MeasuresTheTimeFromAskedToReady) {
  ApplyModel("free");
  StartNodes(2);
  ASSERT_EQ(Decision().start_seconds, (std::vector<double>{0})) << "the first nodes are ready at once";
  SetDemand(380, 1);
  clock_.Advance(std::chrono::seconds(10));
  Settle();
  ASSERT_EQ(Decision().desired, 5) << Decision().message;
  EXPECT_EQ(Decision().asked, (std::vector<api::AskedNodes>{{clock_.Now(), 3}}));
  clock_.Advance(std::chrono::seconds(40));
  AttachAll();
  Settle();
  Settle();
  EXPECT_TRUE(Decision().asked.empty());
  EXPECT_EQ(Decision().start_seconds, (std::vector<double>{0, 40}));
}

TEST_F(AutoscaledFleet, ANewControllerWaitsForTheNodesThatTheFormerOneAskedFor) {
  ApplyModel("free");
  StartNodes(2);
  SetDemand(380, 1);
  clock_.Advance(std::chrono::seconds(10));
  Settle();
  const api::AutoscaleStatus asked = Decision();
  ASSERT_EQ(asked.desired, 5);
  Restart();
  clock_.Advance(std::chrono::seconds(20));
  due_.insert(ModelKey("free"));
  Settle();
  Settle();
  EXPECT_EQ(Decision().desired, 5) << Decision().message;
  EXPECT_EQ(Decision().asked, asked.asked);
  EXPECT_EQ(Decision().last_scale_up, asked.last_scale_up);
}

// The signals of the nodes that have connected already would say nothing about the others.
TEST_F(AutoscaledFleet, ANewControllerReadsNoSignalsBeforeTheNodesThatExistHaveConnected) {
  ApplyModel("free");
  StartNodes(2);
  ready_nodes_ = 99;
  Restart();
  ASSERT_TRUE(reconciler_->Reconcile(kFleetKey));
  EXPECT_EQ(ready_nodes_, 99U);
  EXPECT_EQ(Decision().desired, 2);
  due_.insert(ModelKey("free"));
  Settle();
  Settle();
  EXPECT_EQ(ready_nodes_, 2U);
}

TEST_F(AutoscaledFleet, ADecisionWhoseWriteFailsIsNotForgotten) {
  ApplyModel("free");
  StartNodes(2);
  SetDemand(380, 1);
  clock_.Advance(std::chrono::seconds(10));
  disk_->full_for.insert(kFleetKey);
  Settle();
  const TimePoint scaled_at = clock_.Now();
  ASSERT_EQ(processes_.nodes.size(), 5U) << "the nodes are started nevertheless";
  ASSERT_EQ(Decision().desired, 2) << "the disk is full";
  SetDemand(700, 1);
  clock_.Advance(std::chrono::seconds(2));
  Settle();
  EXPECT_EQ(processes_.nodes.size(), 5U) << "the cooldown is 3 s";
  SetDemand(300, 0.001);
  clock_.Advance(std::chrono::seconds(30));
  AttachAll();
  Settle();
  disk_->full_for.clear();
  Settle();
  Settle();
  EXPECT_EQ(Decision().desired, 5);
  EXPECT_EQ(Decision().last_scale_up, scaled_at);
  EXPECT_EQ(Decision().start_seconds, (std::vector<double>{0, 32}));
}

TEST_F(AutoscaledFleet, ANewObjectOfTheSameNameDoesNotInheritADecision) {
  ApplyModel("free");
  StartNodes(2);
  SetDemand(380, 1);
  disk_->full_for.insert(kFleetKey);
  clock_.Advance(std::chrono::seconds(10));
  Settle();
  ASSERT_EQ(processes_.nodes.size(), 5U);
  const auto object = disk_->Get(kFleetKey);
  ASSERT_TRUE(disk_->Delete(kFleetKey, object->metadata.uid));
  ApplyFleet(2, {{"queueDelay", "10ms"}, {"utilization", "70%"}});
  disk_->full_for.clear();
  metrics_ = {};
  Settle();
  EXPECT_EQ(Decision().last_scale_up, TimePoint{});
}

// Only three of five pods exist, for example because of a quota. More are not asked for, and none is removed.
TEST_F(AutoscaledFleet, NodesThatDoNotExistYetAreWantedNevertheless) {
  ApplyModel("free");
  StartNodes(3);
  processes_.not_created = 2;
  SetDemand(380, 1);
  clock_.Advance(std::chrono::seconds(10));
  Settle();
  EXPECT_EQ(Decision().desired, 5) << Decision().message;
  EXPECT_EQ(processes_.nodes.size(), 3U);
  metrics_ = {};
  clock_.Advance(std::chrono::seconds(10));
  Settle();
  EXPECT_EQ(Decision().desired, 5) << Decision().message;
  EXPECT_EQ(processes_.nodes.size(), 3U);
}

TEST_F(AutoscaledFleet, ASteadyFleetIsNotWritten) {
  ApplyModel("free");
  StartNodes(5);
  SetDemand(350, 0.001);
  Settle();
  Settle();
  const int writes = disk_->writes[kFleetKey];
  for (int second = 0; second < 100; ++second) {
    clock_.Advance(std::chrono::milliseconds(1001) + std::chrono::microseconds(7));
    Settle();
  }
  EXPECT_EQ(disk_->writes[kFleetKey], writes);
}

TEST_F(AutoscaledFleet, ChangedObjectivesGetANewSource) {
  ApplyModelWithTarget("fast", "20ms", 0.99);
  StartNodes(2);
  const size_t requests = queries_.size();
  ApplyModelWithTarget("fast", "30ms", 0.99);
  Settle();
  Settle();
  ASSERT_GT(queries_.size(), requests);
  EXPECT_THAT(queries_.back().latencies,
              ::testing::ElementsAre(signals::LatencyObjective{"fast", 0.99, std::chrono::milliseconds(30)}));
}

TEST_F(AutoscaledFleet, WithoutAutoscalingInItsSpecTheDecisionIsClearedAndTheSourceIsClosed) {
  ApplyModel("free");
  StartNodes(2);
  ASSERT_EQ(Decision().desired, 2);
  ApplyFleet(2, nullptr);
  Settle();
  EXPECT_EQ(Decision(), api::AutoscaleStatus());
  const size_t requests = queries_.size();
  ApplyFleet(2, {{"queueDelay", "10ms"}, {"utilization", "70%"}});
  Settle();
  EXPECT_EQ(queries_.size(), requests + 1) << "the source of before would have old metrics";
}

TEST_F(AutoscaledFleet, AfterItHasGrownBusyNodesMoveConnectionsUnlessTheyAreOfAnEarlierRelease) {
  ApplyModel("free");
  ApplyFleet(3, nullptr);
  Settle();
  AttachAll();
  nodes_.views.at("default.cpu-0").hello.set_moves_connections(true);
  Settle();
  const auto report = [&](int64_t received) {
    timer_.Advance(std::chrono::seconds(1));
    for (auto& [node, view] : nodes_.views) {
      const bool is_busy = node != "default.cpu-2";
      nodes::Unshared(view.report).mutable_load()->set_received(is_busy ? received : 0);
      nodes::Unshared(view.report).mutable_load()->set_connections(is_busy ? 8 : 0);
    }
    Settle();
  };
  const auto moves = [&](const std::string& node) {
    return std::ranges::count_if(nodes_.messages[node], &control::FromController::has_move_connections);
  };
  report(0);
  report(300);
  ASSERT_EQ(moves("default.cpu-0"), 1);
  const control::MoveConnections move = nodes_.messages["default.cpu-0"].back().move_connections();
  EXPECT_NEAR(move.load_share(), 1.0 / 3, 1e-9);
  EXPECT_EQ(move.connections_max(), 4);
  EXPECT_EQ(moves("default.cpu-1"), 0) << "it does not understand the message";
  EXPECT_EQ(moves("default.cpu-2"), 0);
  Restart();
  report(600);
  report(900);
  EXPECT_EQ(moves("default.cpu-0"), 1) << "a new controller has not made the fleet grow";
}

TEST_F(AutoscaledFleet, ANodeThatWasNotConnectedForAWhileIsNotNew) {
  ApplyModel("free");
  ApplyFleet(2, nullptr);
  Settle();
  AttachAll();
  Settle();
  int64_t received = 0;
  const auto report = [&](Duration pause) {
    timer_.Advance(pause);
    received += 1000;
    for (auto& [node, view] : nodes_.views) {
      view.hello.set_moves_connections(true);
      const bool is_busy = node == "default.cpu-0";
      nodes::Unshared(view.report).mutable_load()->set_received(is_busy ? received : 0);
      nodes::Unshared(view.report).mutable_load()->set_connections(8);
    }
    Settle();
  };
  const auto moves = [&] {
    return std::ranges::count_if(nodes_.messages["default.cpu-0"], &control::FromController::has_move_connections);
  };
  report(std::chrono::seconds(1));
  report(std::chrono::seconds(1));
  ASSERT_EQ(moves(), 1);
  report(2 * balance::Balancer::kWindow);
  nodes_.views.at("default.cpu-1").connected = false;
  report(std::chrono::seconds(1));
  report(std::chrono::seconds(60));
  nodes_.views.at("default.cpu-1").connected = true;
  report(std::chrono::seconds(1));
  report(std::chrono::seconds(1));
  report(std::chrono::seconds(1));
  EXPECT_EQ(moves(), 1);
}

class ReachableFleet : public ReconcilerTest {};

TEST_F(ReachableFleet, AReservedNameStartsNoNodesAndIsNotTriedAgain) {
  processes_.addresses = AlreadyExists("the name is reserved");
  Settle();
  EXPECT_EQ(ConditionOf("Ready"), "False: ReservedName: the name is reserved");
  EXPECT_TRUE(processes_.nodes.empty());
  EXPECT_EQ(reconciler_->Reconcile(kFleetKey).value(), std::nullopt);
}

TEST_F(ReachableFleet, ReadyMeansThatItsAddressAnswers) {
  const auto ready = [&] {
    const auto conditions = StatusOf("m").conditions;
    return *std::ranges::find(conditions, "Ready", &api::Condition::type);
  };
  processes_.progress = {.unreachable = "Service s has no pod", .check_again_in = std::chrono::milliseconds(50)};
  ApplyModel("m");
  Settle();
  nodes_.Attach("default.cpu-0", {{"m", 1}});
  Settle();
  Settle();
  ASSERT_EQ(StatusOf("m").stable_version, 1);
  EXPECT_EQ(ready().reason, "NotReachable");
  EXPECT_EQ(ready().message, "version 1 is ready on 1 of 1 nodes; Service s has no pod");
  EXPECT_EQ(ConditionOf("Ready"), "False: NotReachable: 1 of 1 nodes are ready; Service s has no pod");
  EXPECT_EQ(reconciler_->Reconcile(kFleetKey).value(), std::chrono::milliseconds(50));
  processes_.progress = {};
  Settle();
  EXPECT_EQ(ready().status, "True");
  EXPECT_EQ(ConditionOf("Ready"), "True: AllNodesReady: 1 of 1 nodes are ready");
  processes_.progress = {.unreachable = "Service s has no pod"};
  Settle();
  EXPECT_EQ(ready().status, "False");
}

TEST_F(ReachableFleet, AModelWithoutNodesSaysWhyItsFleetHasNone) {
  ApplyModel("m");
  Settle();
  const auto ready = [&] {
    const auto conditions = StatusOf("m").conditions;
    return std::ranges::find(conditions, "Ready", &api::Condition::type)->message;
  };
  EXPECT_EQ(ready(), "no node of fleet cpu is connected");
  processes_.nodes.at("default.cpu-0").trouble = "Unschedulable: no PVC";
  Settle();
  EXPECT_EQ(ready(), "no node of fleet cpu is connected; default.cpu-0: Unschedulable: no PVC");
  nodes_.Attach("default.cpu-0", {{"m", 1}});
  Settle();
  Settle();
  EXPECT_EQ(ready(), "version 1 is ready on 1 of 1 nodes");
  const int writes = disk_->writes[ModelKey("m")];
  processes_.nodes.at("default.cpu-0").trouble = "ImagePullBackOff";
  Settle();
  EXPECT_EQ(disk_->writes[ModelKey("m")], writes) << "the fleet has a node";
}

TEST_F(ReachableFleet, ADeletedFleetEndsConnectionsAtOnceAndRefusesNewOnesSoon) {
  ApplyModel("m");
  Settle();
  nodes_.Attach("default.cpu-0", {{"m", 1}});
  Settle();
  Settle();
  const auto ready = [&] {
    const auto conditions = StatusOf("m").conditions;
    return *std::ranges::find(conditions, "Ready", &api::Condition::type);
  };
  ASSERT_EQ(ready().status, "True");
  processes_.stops_late = true;
  ASSERT_TRUE(disk_->Delete(kFleetKey, disk_->Get(kFleetKey)->metadata.uid));
  const auto again = reconciler_->Reconcile(kFleetKey).value();
  EXPECT_TRUE(nodes_.messages["default.cpu-0"].back().drain().fleet_is_gone());
  EXPECT_FALSE(processes_.refuses) << "a fleet that is created again loses no connection";
  const size_t messages = nodes_.messages["default.cpu-0"].size();
  Settle();
  EXPECT_EQ(nodes_.messages["default.cpu-0"].size(), messages) << "each node is told once";
  EXPECT_EQ(ready().status, "False");
  EXPECT_EQ(ready().reason, "NoFleet");
  EXPECT_EQ(ready().message, "ServingFleet default/cpu does not exist");
  timer_.Advance(again.value());
  Settle();
  EXPECT_TRUE(processes_.refuses);
}

TEST_F(ReachableFleet, ManyModelsWriteTheNewNumberOfNodesOneAfterTheOther) {
  for (const char* name : {"a", "b", "c"}) ApplyModel(name);
  Settle();
  const auto delays = [&](int replicas, const Json& also = {}) {
    Json spec{{"replicas", {{"min", replicas}, {"max", replicas}}}};
    if (!also.is_null()) spec.merge_patch(also);
    Apply(api::kServingFleetKind, "cpu", spec);
    queued_after_.clear();
    Settle();
    std::vector<int64_t> milliseconds;
    for (const char* name : {"a", "b", "c"})
      milliseconds.push_back(queued_after_.at(ModelKey(name)) / std::chrono::milliseconds(1));
    return milliseconds;
  };
  EXPECT_EQ(delays(2), (std::vector<int64_t>{0, 10, 20}));
  EXPECT_EQ(StatusOf("c").observed_fleet.nodes, 2);
  EXPECT_EQ(delays(2, {{"quotas", {{"modelsMax", 3}}}}), (std::vector<int64_t>{0, 0, 0})) << "the quota may refuse one";
  EXPECT_EQ(delays(3, {{"quotas", {{"modelsMax", 2}}}}), (std::vector<int64_t>{0, 0, 0})) << "and in the same apply";
  EXPECT_EQ(delays(1, {{"quotas", {{"modelsMax", 2}}}}), (std::vector<int64_t>{0, 10, 20}));
}

// `longshore status` compares them: a status that has observed another fleet does not count.
TEST_F(ReconcilerTest, TheStatusOfAModelSaysWhichStateOfItsFleetItIsAbout) {
  ApplyModel("m");
  Settle();
  nodes_.Attach("default.cpu-0", {{"m", 1}});
  Settle();
  Settle();
  const auto fleet = [&] { return api::ToObserve(*store::ToFleet(*disk_->Get(kFleetKey))); };
  const auto condition = [&](const char* type) {
    const auto conditions = StatusOf("m").conditions;
    const auto found = *std::ranges::find(conditions, type, &api::Condition::type);
    return found.status + ": " + found.message;
  };
  ASSERT_FALSE(fleet().uid.empty());
  EXPECT_EQ(StatusOf("m").observed_fleet, fleet());
  EXPECT_EQ(condition("Reconciling"), "False: ");
  const api::ObservedFleet before = fleet();
  Apply(api::kServingFleetKind, "cpu", {{"replicas", {{"min", 3}, {"max", 3}}}});
  EXPECT_NE(fleet(), before);
  EXPECT_EQ(StatusOf("m").observed_fleet, before);
  Settle();
  EXPECT_EQ(StatusOf("m").observed_fleet, fleet());
  EXPECT_EQ(condition("Ready"), "True: version 1 is ready on 1 of 3 nodes");
  EXPECT_EQ(condition("Reconciling"), "True: version 1 is ready on 1 of 3 nodes");
  ASSERT_TRUE(disk_->Delete(kFleetKey, fleet().uid));
  Settle();
  EXPECT_EQ(StatusOf("m").observed_fleet, api::ObservedFleet{});
}

TEST_F(ReconcilerTest, AModelWithAMisspeltFleetNamesTheNearestOne) {
  Apply(api::kModelKind, "m", {{"fleet", "cpuu"}, {"source", {{"uri", "file:///models/m"}}}});
  due_.insert(ModelKey("m"));
  Settle();
  const auto message = [&] {
    const auto conditions = StatusOf("m").conditions;
    return std::ranges::find(conditions, "FleetFound", &api::Condition::type)->message;
  };
  EXPECT_EQ(message(), "ServingFleet default/cpuu does not exist; did you mean cpu?");
}

TEST_F(ReachableFleet, StaysReadyWhileItsNodesConnectToANewController) {
  ApplyModel("m");
  Settle();
  nodes_.Attach("default.cpu-0", {{"m", 1}});
  Settle();
  Settle();
  const std::string ready = "True: AllNodesReady: 1 of 1 nodes are ready";
  ASSERT_EQ(ConditionOf("Ready"), ready);
  nodes_.views.clear();
  adoption_grace_ = std::chrono::seconds(5);
  Restart();
  due_.insert(ModelKey("m"));
  ASSERT_TRUE(reconciler_->Reconcile(kFleetKey));
  EXPECT_EQ(ConditionOf("Ready"), ready) << "the node has not connected yet";
  nodes_.Attach("default.cpu-0", {{"m", 1}});
  ASSERT_TRUE(reconciler_->Reconcile(kFleetKey));
  EXPECT_EQ(ConditionOf("Ready"), ready) << "the node has not got its state yet";
  Settle();
  EXPECT_EQ(ConditionOf("Ready"), ready);
  nodes_.views.clear();
  Restart();
  timer_.Advance(adoption_grace_);
  Settle();
  EXPECT_EQ(ConditionOf("Ready"), "False: NodesNotReady: 0 of 1 nodes are ready");
}

TEST_F(ReachableFleet, ANodeThatDoesNotAnswerIsNotReadyAndIsRestarted) {
  nodes_.Attach("default.cpu-0");
  Settle();
  Settle();
  ASSERT_EQ(ConditionOf("Ready"), "True: AllNodesReady: 1 of 1 nodes are ready");
  nodes_.views.at("default.cpu-0").hello.set_pid(1);
  nodes_.Leave("default.cpu-0", timer_.Now());
  timer_.Advance(std::chrono::seconds(14));
  ASSERT_TRUE(reconciler_->Reconcile(kFleetKey));
  EXPECT_EQ(ConditionOf("Ready"),
            "False: NodesNotReady: 0 of 1 nodes are ready; default.cpu-0 does not answer, "
            "although its process 1 runs");
  EXPECT_TRUE(processes_.restarted.empty());
  timer_.Advance(std::chrono::seconds(1));
  ASSERT_TRUE(reconciler_->Reconcile(kFleetKey));
  EXPECT_EQ(processes_.restarted, std::vector<std::string>{"default.cpu-0"});
  processes_.nodes.at("default.cpu-0").pid = 2;
  ASSERT_TRUE(reconciler_->Reconcile(kFleetKey));
  EXPECT_EQ(ConditionOf("Ready"), "False: NodesNotReady: 0 of 1 nodes are ready") << "the new process starts";
  EXPECT_EQ(processes_.restarted.size(), 1U);
}

TEST_F(ReachableFleet, ANodeThatAnswersButHasNoStreamIsNamedAsSuch) {
  nodes_.Attach("default.cpu-0");
  Settle();
  nodes_.views.at("default.cpu-0").hello.set_pid(1);
  nodes_.Leave("default.cpu-0", timer_.Now());
  processes_.restarting = FailedPrecondition("it answers");
  timer_.Advance(std::chrono::seconds(15));
  ASSERT_TRUE(reconciler_->Reconcile(kFleetKey));
  const std::string answers =
      "False: NodesNotReady: 0 of 1 nodes are ready; default.cpu-0 has no stream to the controller, although its "
      "process 1 answers";
  EXPECT_EQ(ConditionOf("Ready"), answers);
  processes_.restarting = {};
  ASSERT_TRUE(reconciler_->Reconcile(kFleetKey));
  EXPECT_EQ(ConditionOf("Ready"), answers) << "it is asked again, and nothing else is known meanwhile";
}

TEST_F(ReachableFleet, ANodeThatHungBeforeTheControllerStartedIsRestarted) {
  nodes_.views.clear();
  Settle();
  Restart();
  EXPECT_EQ(reconciler_->Reconcile(kFleetKey).value(), std::optional<Duration>(std::chrono::seconds(60)));
  timer_.Advance(std::chrono::seconds(59));
  ASSERT_TRUE(reconciler_->Reconcile(kFleetKey));
  EXPECT_TRUE(processes_.restarted.empty()) << "it may start slowly";
  timer_.Advance(std::chrono::seconds(1));
  ASSERT_TRUE(reconciler_->Reconcile(kFleetKey));
  EXPECT_EQ(processes_.restarted, std::vector<std::string>{"default.cpu-0"});
}

}  // namespace
}  // namespace longshore::reconcile
