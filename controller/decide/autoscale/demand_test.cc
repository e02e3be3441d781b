#include "controller/decide/autoscale/demand.h"

#include <gtest/gtest.h>

namespace longshore::autoscale {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Rates kRates{.arrivals_per_second = 600, .node_capacity_per_second = 80, .queued = 0};

TEST(Demand, NodesAtAUtilization) {
  EXPECT_DOUBLE_EQ(NodesAt(1, kRates), 7.5);
  EXPECT_DOUBLE_EQ(NodesAt(0.5, kRates), 15);
}

TEST(Demand, WithoutAQueueOnlyTheArrivalsAreServed) {
  EXPECT_DOUBLE_EQ(NodesToDrain(kRates, {.ready = 8, .start_time = seconds(60)}, milliseconds(10)), 7.5);
}

// Six nodes serve 480 requests/s, so the queue grows by 120 per second until a new node is ready.
TEST(Demand, QueueGrowsUntilNewNodesAreReadyAndIsDrainedInTheSameTime) {
  EXPECT_DOUBLE_EQ(NodesToDrain(kRates, {.ready = 6, .start_time = seconds(60)}, Duration(0)), (600 + 120) / 80.0);
  EXPECT_DOUBLE_EQ(NodesToDrain(kRates, {.ready = 6, .start_time = seconds(15)}, Duration(0)), (600 + 60) / 80.0)
      << "it is drained in 30 s at least";
  EXPECT_DOUBLE_EQ(NodesToDrain(kRates, {.ready = 6, .start_time = seconds(600)}, Duration(0)), (600 + 240) / 80.0)
      << "and in 5 minutes at most";
}

// Three nodes that are ready in 20 s turn the growth of 120 per second into a decrease of 120 per second.
TEST(Demand, NodesThatAreReadyEarlierDrainIt) {
  const Supply supply{.ready = 6, .coming = {{seconds(20), 3}}, .start_time = seconds(40)};
  EXPECT_DOUBLE_EQ(NodesToDrain(kRates, supply, Duration(0)), 7.5);
  const Supply later{.ready = 6, .coming = {{seconds(30), 3}}, .start_time = seconds(40)};
  EXPECT_DOUBLE_EQ(NodesToDrain(kRates, later, Duration(0)), (600 + 120 * 20 / 40.0) / 80);
}

TEST(Demand, RequestsThatWaitNoLongerThanTheTargetAreNoQueue) {
  Rates rates = kRates;
  rates.queued = 6;  // 10 ms of arrivals.
  const Supply supply{.ready = 8, .start_time = Duration(0)};
  EXPECT_DOUBLE_EQ(NodesToDrain(rates, supply, milliseconds(10)), 7.5);
  rates.queued = 306;
  EXPECT_DOUBLE_EQ(NodesToDrain(rates, supply, milliseconds(10)), (600 + 10) / 80.0);
}

}  // namespace
}  // namespace longshore::autoscale
