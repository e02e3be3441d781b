// Runs Decide in a loop with a simulated fleet, whose nodes need time to start. Each run has new seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <tuple>

#include "controller/decide/autoscale/autoscale.h"
#include "tests/seeds/seeds.h"
#include "tests/sim/autoscale_step.h"
#include "tests/sim/autoscale_world.h"

namespace longshore::autoscale {
namespace {

using sim::AutoscaleWorld;
using sim::RateAt;
using sim::Second;
using sim::WorldOptions;

constexpr int kReplicasMax = 200;
constexpr double kOvershootMax = 1.3;
constexpr int kMinute = 60;

api::ServingFleetSpec SpecFor(double utilization) {
  api::ServingFleetSpec spec;
  spec.replicas_max = kReplicasMax;
  spec.autoscaling.emplace();
  spec.autoscaling->utilization_target = utilization;
  return spec;
}

double RunSeconds(const WorldOptions& options) {
  double seconds = 0;
  for (const sim::SimulatedModel& model : options.models) seconds += model.share * model.run_seconds;
  return seconds;
}

// A world that no default was tuned on: the numbers of slots, run times, start times and targets differ widely.
struct Case {
  WorldOptions options;
  double utilization = 0.7;
  double rate = 0;  // A load that needs about five nodes.
};
Case RandomCase(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
  const auto logarithmic = [&](double low, double high) { return std::exp(uniform(std::log(low), std::log(high))); };
  Case world;
  world.options.seed = seed;
  world.options.slots = static_cast<int>(std::lround(logarithmic(1, 12)));
  world.options.models[0].run_seconds = logarithmic(0.03, 0.4);
  world.options.run_spread = uniform(0, 0.9);
  world.options.start_seconds = logarithmic(5, 120);
  world.options.start_spread = uniform(0, 0.5);
  world.options.metrics = uniform(0, 1) < 0.3 ? sim::Metrics::kPrometheus : sim::Metrics::kReports;
  world.utilization = uniform(0.5, 0.75);
  const double node_rate = world.options.slots / world.options.models[0].run_seconds;
  world.rate = uniform(3, 6) * node_rate * world.utilization;
  return world;
}

std::string Describe(const Case& world) {
  const WorldOptions& options = world.options;
  return fmt::format(
      "seed {}: {} slots, runs of {:.3f} s +-{:.0f} %, {:.0f} requests/s, starts of {:.0f} s +-{:.0f} %, target "
      "{:.2f}, {}",
      options.seed, options.slots, options.models[0].run_seconds, 100 * options.run_spread, world.rate,
      options.start_seconds, 100 * options.start_spread, world.utilization,
      options.metrics == sim::Metrics::kReports ? "reports" : "Prometheus");
}

std::vector<Second> Simulate(const Case& world, int seconds, const RateAt& rate) {
  AutoscaleWorld fleet(SpecFor(world.utilization), world.options);
  std::vector<Second> run;
  for (int second = 0; second < seconds; ++second) run.push_back(fleet.Next(rate(second)));
  return run;
}

constexpr double kWaitTarget = 0.01;

// The share of the times of 15 s in which requests waited longer than the target on average.
double ShareOfWaiting(const std::vector<Second>& run, size_t from, double target_seconds = kWaitTarget) {
  constexpr size_t kSeconds = 15;
  int times = 0;
  int waiting = 0;
  for (; from + kSeconds <= run.size(); from += kSeconds) {
    double sum = 0;
    for (size_t i = from; i < from + kSeconds; ++i) sum += run[i].mean_wait_seconds;
    ++times;
    if (sum / kSeconds > target_seconds) ++waiting;
  }
  return static_cast<double>(waiting) / times;
}

// The fewest nodes with which a steady load meets the target for the utilization, and the one for the wait in 19 of 20
// times. Found by trying.
int NeedFor(const Case& world, double rate, double target_seconds = kWaitTarget) {
  const double busy = rate * RunSeconds(world.options) / world.options.slots;
  for (int nodes = std::max(1, static_cast<int>(std::ceil(busy / world.utilization)));; ++nodes) {
    Case fixed = world;
    fixed.options.nodes = nodes;
    api::ServingFleetSpec spec = SpecFor(world.utilization);
    spec.replicas_min = spec.replicas_max = nodes;
    AutoscaleWorld fleet(spec, fixed.options);
    std::vector<Second> run;
    for (int second = 0; second < 5 * kMinute; ++second) run.push_back(fleet.Next(rate));
    if (ShareOfWaiting(run, 10, target_seconds) <= 0.05) return nodes;
  }
}

// The most nodes that may be asked for if so many are needed. A fleet has whole nodes.
int AllowedFor(int need) { return std::max(need + 1, static_cast<int>(std::ceil(kOvershootMax * need))); }

// The most nodes that may be left some minutes after the load has fallen. A fleet shrinks only if requests wait at most
// half as long as the target.
int LeftFor(const Case& world, double rate) { return AllowedFor(NeedFor(world, rate, kWaitTarget / 2)); }

int MostWanted(const std::vector<Second>& run) { return std::ranges::max(run, {}, &Second::wanted).wanted; }

// How often the fleet changed from growing to shrinking, or the other way round.
int CountTurns(const std::vector<Second>& run, size_t from) {
  int turns = 0;
  int direction = 0;
  for (size_t i = from + 1; i < run.size(); ++i) {
    const int change = run[i].wanted - run[i - 1].wanted;
    if (change == 0) continue;
    if (direction != 0 && (change > 0) != (direction > 0)) ++turns;
    direction = change;
  }
  return turns;
}

class OfStartTime : public ::testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Seconds, OfStartTime, ::testing::Values(5, 10, 30, 60, 120));

// The goal: a load that doubles from 300 to 600 requests/s needs nine nodes.
TEST_P(OfStartTime, ADoubledLoadAsksForAtMost1Point3TimesTheNeed) {
  const auto rows = sim::RunAutoscaleSteps({.start_seconds = {GetParam()}, .seed = seeds::First(5)});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].need, 9);
  EXPECT_LE(rows[0].Ratio(), kOvershootMax) << rows[0].asked_max << " nodes";
  EXPECT_GE(rows[0].asked_max, rows[0].need);
  EXPECT_LE(rows[0].drained_after_seconds, 2 * GetParam() + 60);
}

constexpr uint64_t kWorlds = 4;

class InManyWorlds : public ::testing::Test {
 protected:
  template <typename Check>
  void ForEachWorld(const Check& check) {
    const uint64_t first = seeds::First(kWorlds);
    for (uint64_t seed = first; seed < first + kWorlds; ++seed) {
      Case world = RandomCase(seed);
      world.options.nodes = NeedFor(world, world.rate);
      SCOPED_TRACE(Describe(world));
      check(world);
    }
  }
};

TEST_F(InManyWorlds, AStepAsksForWhatIsNeededAndItsQueueIsDrained) {
  ForEachWorld([](const Case& world) {
    const int seconds = 6 * kMinute + static_cast<int>(4 * world.options.start_seconds);
    const auto run = Simulate(world, seconds, [&](double at) { return at < kMinute ? world.rate : 2 * world.rate; });
    EXPECT_LE(MostWanted(run), AllowedFor(NeedFor(world, 2 * world.rate)));
    EXPECT_LT(run.back().queued, 10 + 2 * world.rate * 0.1);
  });
}

TEST_F(InManyWorlds, ARampIsFollowedUpAndDown) {
  ForEachWorld([](const Case& world) {
    const auto rate = [&](double at) {
      return world.rate * (1 + 2 * std::clamp(1 - std::abs(at / kMinute - 10) / 8, 0.0, 1.0));
    };
    const auto run = Simulate(world, 35 * kMinute, rate);
    EXPECT_LE(MostWanted(run), AllowedFor(NeedFor(world, 3 * world.rate)));
    EXPECT_LE(run.back().wanted, LeftFor(world, world.rate));
  });
}

TEST_F(InManyWorlds, SpikesAskForNoMoreThanTheirHeightNeeds) {
  ForEachWorld([](const Case& world) {
    const auto rate = [&](double at) { return static_cast<int>(at) % 180 < 20 ? 3 * world.rate : world.rate; };
    const auto run = Simulate(world, 15 * kMinute, rate);
    EXPECT_LE(MostWanted(run), AllowedFor(NeedFor(world, 3 * world.rate)));
  });
}

TEST_F(InManyWorlds, ASteadyLoadWithNoisySignalsDoesNotMakeTheFleetSwing) {
  ForEachWorld([](Case world) {
    world.options.noise = 0.1;
    const auto run = Simulate(world, 45 * kMinute, [&](double) { return world.rate; });
    EXPECT_LE(MostWanted(run), AllowedFor(NeedFor(world, 1.1 * world.rate)));
    EXPECT_LE(CountTurns(run, 0), 2);
  });
}

TEST_F(InManyWorlds, ALoadThatEndsLeavesTheMinimumAfterTheStabilization) {
  ForEachWorld([](const Case& world) {
    const auto run = Simulate(world, 10 * kMinute, [&](double at) { return at < 2 * kMinute ? world.rate : 0; });
    EXPECT_EQ(run.back().wanted, 1);
    EXPECT_GT(run[6 * kMinute].wanted, 1) << "four minutes after the end";
  });
}

std::vector<int> WantedOf(const std::vector<Second>& run) {
  std::vector<int> wanted;
  for (const Second& second : run) wanted.push_back(second.wanted);
  return wanted;
}

// Up, down and up again, with a rest that is long enough to remove nodes.
double UpAndDown(double rate, double at) {
  const int minute = static_cast<int>(at) / kMinute;
  return minute < 2 ? rate : minute < 6 ? 2.5 * rate : minute < 16 ? rate / 2 : 1.5 * rate;
}

TEST_F(InManyWorlds, AControllerThatRestartsAllTheTimeDecidesTheSame) {
  ForEachWorld([](Case world) {
    const auto rate = [&](double at) { return UpAndDown(world.rate, at); };
    const auto undisturbed = Simulate(world, 20 * kMinute, rate);
    world.options.restart_every_s = 1;
    world.options.blind_after_restart_s = 0;
    EXPECT_EQ(WantedOf(Simulate(world, 20 * kMinute, rate)), WantedOf(undisturbed));
  });
}

// While a new controller has no metrics yet, times go on. A restart within each stabilization window does not keep the
// nodes.
TEST_F(InManyWorlds, RestartsDoNotKeepNodesThatAreNotNeeded) {
  ForEachWorld([](Case world) {
    world.options.restart_every_s = 100;
    const auto run = Simulate(world, 14 * kMinute, [&](double at) { return UpAndDown(world.rate, at); });
    EXPECT_GT(MostWanted(run), run.back().wanted);
    EXPECT_LE(MostWanted(run), AllowedFor(NeedFor(world, 2.5 * world.rate)));
    EXPECT_LE(run.back().wanted, LeftFor(world, world.rate / 2));
  });
}

TEST_F(InManyWorlds, WithoutMetricsTheNumberOfNodesDoesNotChange) {
  ForEachWorld([](const Case& world) {
    AutoscaleWorld fleet(SpecFor(world.utilization), world.options);
    for (int second = 0; second < kMinute; ++second) fleet.Next(world.rate);
    fleet.HideMetrics(true);
    const int wanted = fleet.Next(world.rate).wanted;
    for (int second = 0; second < 10 * kMinute; ++second) {
      ASSERT_EQ(fleet.Next(second < 5 * kMinute ? 2 * world.rate : 0).wanted, wanted) << "second " << second;
    }
  });
}

Case MixedModels(double objective_of_slow) {
  Case world;
  world.options.seed = seeds::First();
  world.options.models = {{.name = "quick", .share = 0.8, .run_seconds = 0.005, .objective_seconds = 0.02},
                          {.name = "slow", .share = 0.2, .run_seconds = 0.2, .objective_seconds = objective_of_slow}};
  world.options.nodes = 4;
  world.rate = 4 * world.options.slots * world.utilization / RunSeconds(world.options);
  return world;
}

TEST(AutoscaleSimulation, ASlowModelWithALooseObjectiveDoesNotMakeTheFleetGrow) {
  const Case world = MixedModels(0.5);
  const auto run = Simulate(world, 30 * kMinute, [&](double) { return world.rate; });
  EXPECT_LE(MostWanted(run), AllowedFor(NeedFor(world, world.rate)));
}

// The run alone takes longer than the objective, so no number of nodes meets it.
TEST(AutoscaleSimulation, AnObjectiveThatCannotBeMetAsksForABoundedNumberOfNodesAndDoesNotKeepThem) {
  const Case world = MixedModels(0.1);
  const auto rate = [&](double at) { return at < 90 * kMinute ? world.rate : world.rate / 8; };
  const auto run = Simulate(world, 100 * kMinute, rate);
  EXPECT_LE(MostWanted(run), 4 * 4 * 1.5) << "four times as many as the utilization needs, and the last step";
  EXPECT_LE(run.back().wanted, 4) << "at an eighth of the load";
}

// One node is 65 % busy, and its requests wait too long. With two nodes they hardly wait, so one seems to be enough.
// The fleet may try that once, and sees within two minutes or so that it is not.
TEST(AutoscaleSimulation, AFleetOfOneOrTwoNodesDoesNotSwing) {
  Case world;
  world.options.seed = seeds::First();
  world.options.slots = 1;
  world.options.models[0].run_seconds = 0.01;
  world.options.run_spread = 0.9;
  const auto run = Simulate(world, 120 * kMinute, [&](double) { return 65; });
  EXPECT_EQ(MostWanted(run), 2);
  EXPECT_LE(std::ranges::count(run, 1, &Second::wanted), 5 * kMinute);
  EXPECT_LE(CountTurns(run, 0), 2);
}

// Nodes with queues of their own need a lower utilization than the target, or requests wait too long.
TEST(AutoscaleSimulation, AFleetThatNeedsALowUtilizationFindsItAndDoesNotSwing) {
  Case world;
  world.options.seed = seeds::First();
  world.options.routing = sim::Routing::kRandom;
  world.options.nodes = 4;
  world.rate = 4 * world.options.slots * world.utilization / RunSeconds(world.options);
  const auto run = Simulate(world, 120 * kMinute, [&](double) { return world.rate; });
  EXPECT_LE(MostWanted(run), AllowedFor(NeedFor(world, world.rate)));
  EXPECT_LE(CountTurns(run, 0), 4) << "once per hour the fleet tries whether fewer nodes are enough";
  EXPECT_LE(ShareOfWaiting(run, 30 * kMinute), 0.1);
}

}  // namespace
}  // namespace longshore::autoscale
