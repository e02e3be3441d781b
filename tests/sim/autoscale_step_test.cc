#include "tests/sim/autoscale_step.h"

#include <gtest/gtest.h>

#include "tests/sim/autoscale_world.h"

namespace longshore::sim {
namespace {

// 30 requests run at the same time on average. With 8 nodes (32 slots) 1.1 % wait longer than 100 ms.
TEST(AutoscaleStep, NeedIsThatOfErlangsFormula) {
  EXPECT_EQ(NodesThatServe(600, {.slots = 4, .run_seconds = 0.05}), 9);
  EXPECT_EQ(NodesThatServe(300, {.slots = 4, .run_seconds = 0.05}), 5);
  EXPECT_EQ(NodesThatServe(1, {.slots = 4, .run_seconds = 0.05}), 1);
}

TEST(AutoscaleStep, SameSeedGivesTheSameRow) {
  const StepOptions options{.start_seconds = {20}, .trials = 2, .seed = 7};
  const auto rows = RunAutoscaleSteps(options);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].start_seconds, 20);
  EXPECT_GE(rows[0].asked_max, rows[0].need);
  EXPECT_LE(rows[0].Ratio(), 1.3);
  EXPECT_GT(rows[0].drained_after_seconds, 20) << "before, there are too few nodes";
  EXPECT_LT(rows[0].drained_after_seconds, 100);
  const auto again = RunAutoscaleSteps(options);
  EXPECT_EQ(again[0].asked_max, rows[0].asked_max);
  EXPECT_EQ(again[0].drained_after_seconds, rows[0].drained_after_seconds);
}

api::ServingFleetSpec Fixed(int nodes) {
  api::ServingFleetSpec spec;
  spec.replicas_min = spec.replicas_max = nodes;
  spec.autoscaling.emplace();
  return spec;
}

// The world itself: requests are not lost, and a queue forms only if there are more requests than slots.
TEST(AutoscaleWorld, AccountsForEachRequestAndEachBusySecond) {
  AutoscaleWorld world(Fixed(2), {.seed = 3, .slots = 2, .arrivals = Arrivals::kEven, .nodes = 2});
  double busy = 0;
  for (int second = 0; second < 20; ++second) {
    const Second seen = world.Next(40);
    EXPECT_EQ(seen.arrived, 40);
    EXPECT_EQ(seen.refused, 0);
    EXPECT_EQ(seen.wanted, 2);
    busy += seen.utilization;
  }
  EXPECT_NEAR(busy / 20, 40 * 0.05 / 4, 0.02);
}

TEST(AutoscaleWorld, OverloadQueuesAndThenRefuses) {
  AutoscaleWorld world(Fixed(1), {.seed = 3, .slots = 2, .queue_max = 100, .nodes = 1});
  Second seen;
  for (int second = 0; second < 10; ++second) seen = world.Next(80);
  EXPECT_NEAR(seen.queued, 100, 2);
  EXPECT_NEAR(seen.refused, 40, 25);
  EXPECT_NEAR(seen.utilization, 1, 1e-6);
  EXPECT_GT(seen.mean_wait_seconds, 1);
}

TEST(AutoscaleWorld, NodesAreReadyAfterTheirStartTime) {
  AutoscaleWorld world(Fixed(3), {.seed = 3, .start_seconds = 10, .nodes = 1});
  for (int second = 1; second <= 15; ++second) {
    const Second seen = world.Next(10);
    EXPECT_EQ(seen.wanted, 3);
    EXPECT_EQ(seen.ready, second < 11 ? 1 : 3) << "second " << second;
  }
}

}  // namespace
}  // namespace longshore::sim
