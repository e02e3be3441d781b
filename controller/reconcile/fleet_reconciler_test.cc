#include "controller/reconcile/fleet_reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/reconcile/testing.h"

namespace longshore::reconcile {
namespace {

class AutoscaledFleet : public ReconcilerTest {
 protected:
  // Starts a fleet of `count` nodes that serve version 1 of the models "fast", "slow" and "free".
  void StartNodes(int count) {
    ApplyFleet(count, {{"queueDelay", "10ms"}, {"utilization", "70%"}});
    Settle();
    for (const auto& [node, _] : processes_.nodes) nodes_.Attach(node, {{"fast", 1}, {"slow", 1}, {"free", 1}});
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

// With a utilization of 90 % and a target of 70 %, the load of four nodes needs six nodes. If the metrics cover only
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
  EXPECT_EQ(Decision().desired, 6) << Decision().message;
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
  EXPECT_EQ(Decision().desired, 6) << Decision().message;
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

}  // namespace
}  // namespace longshore::reconcile
