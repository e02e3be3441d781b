// Runs Decide in a loop with a simulated fleet whose nodes need time to start, with many new seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "controller/decide/autoscale/autoscale.h"
#include "tests/seeds/seeds.h"

namespace longshore::autoscale {
namespace {

using std::chrono::seconds;

constexpr int kReplicasMax = 50;
constexpr int kStartSeconds = 60;    // Time from the decision until a node answers requests.
constexpr int kMeasuredSeconds = 2;  // Time from a node's first answer until two of its reports have arrived.

// A fleet under load. The load is the number of nodes that it would keep fully busy.
class SimulatedFleet {
 public:
  explicit SimulatedFleet(uint64_t seed) : random_(seed) {
    spec_.replicas_min = 1;
    spec_.replicas_max = kReplicasMax;
    spec_.autoscaling.emplace();
    ready_at_.push_back(-kStartSeconds);
  }

  int replicas() const { return static_cast<int>(ready_at_.size()); }
  int Measured() const { return CountOf(kMeasuredSeconds); }
  bool UsersWait(double load) const { return load > CountOf(0); }

  // Simulates one second; returns the wanted nodes before and after it.
  void Step(double load) {
    ++second_;
    const TimePoint now = TimePoint(seconds(1000 + second_));
    const double noisy = load * std::uniform_real_distribution(0.9, 1.1)(random_);
    const double busy = std::min(1.0, noisy / CountOf(0));
    Input input{.metrics = {}, .replicas = replicas()};
    input.metrics.utilization = {Presence::kValue, busy, now};
    input.metrics.queue_delay_seconds = {Presence::kValue, busy < 1 ? 0.001 : 0.5, now};
    input.metrics.latencies = {{"digits", std::chrono::milliseconds(50), {Presence::kValue, busy < 1 ? 0.01 : 1, now}}};
    input.metrics.nodes_measured = Measured();
    input.metrics.nodes_missing = CountOf(0) - Measured();
    status_ = Decide(spec_, status_, input, now);
    while (replicas() < status_.desired) ready_at_.push_back(second_ + kStartSeconds);
    ready_at_.resize(static_cast<size_t>(status_.desired));
  }

 private:
  // Number of nodes that have been ready for at least this many seconds.
  int CountOf(int for_seconds) const {
    return static_cast<int>(std::ranges::count_if(ready_at_, [&](int at) { return at + for_seconds <= second_; }));
  }

  std::mt19937 random_;
  api::ServingFleetSpec spec_;
  api::AutoscaleStatus status_;
  std::vector<int> ready_at_;  // Start time of each node, oldest first; scaling down removes the newest.
  int second_ = 0;
};

constexpr uint64_t kFleets = 50;

TEST(AutoscaleSimulation, NodesThatNeedAMinuteToStartAreAwaitedAndNotMultiplied) {
  const uint64_t first = seeds::First(kFleets);
  for (uint64_t seed = first; seed < first + kFleets; ++seed) {
    SimulatedFleet fleet(seed);
    std::mt19937 random(seed);
    const double load = std::uniform_real_distribution(1.5, 8.0)(random);
    // The number of nodes at the utilization target of 70 %, with a margin.
    const int enough = static_cast<int>(std::ceil(load * 1.1 / 0.7)) + 1;
    int peak = 0;
    for (int second = 0; second < 900; ++second) {
      const int before = fleet.replicas();
      const int measured_before = fleet.Measured();
      fleet.Step(second < 30 ? 0.3 : load);
      const int measured = std::max(measured_before, fleet.Measured());
      ASSERT_LE(fleet.replicas(), std::max(before, 2 * std::max(measured, 1))) << "seed " << seed << " at " << second;
      peak = std::max(peak, fleet.replicas());
    }
    // The last doubling starts below `enough`, so it ends below twice `enough`.
    EXPECT_LT(peak, 2 * enough) << "seed " << seed << " with a load of " << load;
    EXPECT_FALSE(fleet.UsersWait(load * 1.1)) << "seed " << seed << ": there are too few nodes at the end";
  }
}

TEST(AutoscaleSimulation, ALoadThatDoublesDuringAStartIsServedInTheEnd) {
  const uint64_t first = seeds::First(kFleets);
  for (uint64_t seed = first; seed < first + kFleets; ++seed) {
    SimulatedFleet fleet(seed);
    for (int second = 0; second < 1500; ++second) fleet.Step(second < 30 ? 0.3 : second < 60 ? 3 : 6);
    EXPECT_FALSE(fleet.UsersWait(6.6)) << "seed " << seed;
    EXPECT_LT(fleet.replicas(), 20) << "seed " << seed;
  }
}

}  // namespace
}  // namespace longshore::autoscale
