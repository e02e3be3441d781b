#include "controller/decide/autoscale/load_window.h"

#include <gtest/gtest.h>

#include "common/base/buckets.h"

namespace longshore::autoscale {
namespace {

using std::chrono::milliseconds;

constexpr TimePoint kNow{std::chrono::seconds(1000)};

// A second of two nodes with four slots each.
Tick Of(double requests) {
  return {.seconds = 1,
          .arrivals = requests,
          .started = requests,
          .wait_seconds = requests * 0.01,
          .busy_seconds = requests * 0.05,
          .slots = 8,
          .queued = 0,
          .nodes = 2};
}

Tick WithTimes(Tick tick, Duration time, int64_t count) {
  std::vector<int64_t>& buckets = tick.times["digits"];
  buckets.resize(static_cast<size_t>(TimeBucketOf(time)) + 1);
  buckets.back() = count;
  return tick;
}

TEST(LoadWindow, WithoutATickEverythingIsUnknown) {
  const FleetMetrics metrics = LoadWindow().Now({{"digits", 0.99, milliseconds(50)}}, kNow);
  EXPECT_EQ(metrics.utilization.presence, Presence::kUnknown);
  EXPECT_EQ(metrics.queue_delay_seconds.presence, Presence::kUnknown);
  EXPECT_EQ(metrics.demand.arrivals_per_second.presence, Presence::kUnknown);
  ASSERT_EQ(metrics.latencies.size(), 1U);
  EXPECT_EQ(metrics.latencies[0].seconds.presence, Presence::kUnknown);
}

TEST(LoadWindow, MeasuresDemandCapacityAndDelay) {
  LoadWindow window;
  Tick tick = Of(100);
  tick.arrivals = 130;
  tick.queued = 30;
  window.Add(tick);
  const FleetMetrics metrics = window.Now({}, kNow);
  EXPECT_DOUBLE_EQ(metrics.utilization.value, 5.0 / 8);
  EXPECT_DOUBLE_EQ(metrics.queue_delay_seconds.value, 0.01);
  EXPECT_DOUBLE_EQ(metrics.demand.arrivals_per_second.value, 130);
  EXPECT_DOUBLE_EQ(metrics.demand.node_capacity_per_second.value, 80) << "four runs at a time, 20 times per second";
  EXPECT_DOUBLE_EQ(metrics.demand.queued.value, 30);
  EXPECT_EQ(metrics.demand.queued.at, kNow);
}

TEST(LoadWindow, AveragesOverAsFewTicksAsHaveEnoughRequests) {
  LoadWindow few;
  for (const double requests : {10, 10, 10, 40}) few.Add(Of(requests));
  EXPECT_DOUBLE_EQ(few.Now({}, kNow).demand.arrivals_per_second.value, 17.5);
  LoadWindow many;
  for (const double requests : {1000, 1000, 1000, 4000}) many.Add(Of(requests));
  EXPECT_DOUBLE_EQ(many.Now({}, kNow).demand.arrivals_per_second.value, 4000);
}

TEST(LoadWindow, ForgetsWhatIsOlderThanItsMaximum) {
  LoadWindow window;
  for (int i = 0; i < 15; ++i) window.Add(Of(10));
  for (int i = 0; i < 15; ++i) window.Add(Of(20));
  EXPECT_DOUBLE_EQ(window.Now({}, kNow).demand.arrivals_per_second.value, 20);
  Tick long_one = Of(3000);
  long_one.seconds = 100;
  window.Add(long_one);
  EXPECT_DOUBLE_EQ(window.Now({}, kNow).demand.arrivals_per_second.value, 30);
}

TEST(LoadWindow, NothingToDoIsIdleAndItsCapacityIsUnknown) {
  LoadWindow window;
  window.Add(Of(0));
  const FleetMetrics metrics = window.Now({}, kNow);
  EXPECT_EQ(metrics.queue_delay_seconds.presence, Presence::kIdle);
  EXPECT_EQ(metrics.utilization.presence, Presence::kValue);
  EXPECT_EQ(metrics.demand.arrivals_per_second.value, 0);
  EXPECT_EQ(metrics.demand.node_capacity_per_second.presence, Presence::kUnknown);
}

TEST(LoadWindow, RequestsThatWaitWhileNoneIsStartedHaveAnUnknownDelay) {
  LoadWindow window;
  window.Add(Of(100));
  Tick stuck = Of(0);
  stuck.queued = 7;
  stuck.busy_seconds = 8;
  window.Add(stuck);
  EXPECT_EQ(window.Now({}, kNow).queue_delay_seconds.presence, Presence::kUnknown);
}

TEST(LoadWindow, UtilizationIsAtMostOneAfterNodesHaveLeft) {
  LoadWindow window;
  window.Add(Of(100));
  Tick fewer = Of(0);
  fewer.slots = 1;
  window.Add(fewer);
  EXPECT_DOUBLE_EQ(window.Now({}, kNow).utilization.value, 1);
}

TEST(LoadWindow, LatencyIsThatOfTheNewestRequestsOfTheModel) {
  const std::vector<LatencyObjective> objectives = {{"digits", 0.9, milliseconds(50)}, {"gone", 0.9, milliseconds(50)}};
  LoadWindow window;
  window.Add(WithTimes(Of(10), milliseconds(400), 10));
  window.Add(WithTimes(Of(10), milliseconds(20), 80));
  EXPECT_NEAR(window.Now(objectives, kNow).latencies[0].seconds.value, 0.4, 0.03) << "10 of 90 took 400 ms";
  EXPECT_EQ(window.Now(objectives, kNow).latencies[1].seconds.presence, Presence::kUnknown);
  window.Add(WithTimes(Of(10), milliseconds(20), 5000));
  EXPECT_NEAR(window.Now(objectives, kNow).latencies[0].seconds.value, 0.02, 0.002);
  Tick idle = Of(10);
  idle.times["digits"];
  LoadWindow quiet;
  quiet.Add(idle);
  EXPECT_EQ(quiet.Now(objectives, kNow).latencies[0].seconds.presence, Presence::kIdle);
}

}  // namespace
}  // namespace longshore::autoscale
