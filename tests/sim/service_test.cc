#include "tests/sim/service.h"

#include <gtest/gtest.h>

#include <numeric>

#include "controller/decide/analysis/histogram.h"

namespace longshore::sim {
namespace {

// The evidence of a number of seconds.
analysis::WindowEvidence EvidenceOf(const World& world, double candidate_share, int seconds, double pair_share = 0.25) {
  Service service(world, {.share = pair_share, .per_second_max = 1000}, 5);
  Period period;
  for (int i = 0; i < seconds; ++i) service.AddSecond(candidate_share, false, period);
  return analysis::Sum(period.windows);
}

double ErrorRate(const api::ArmEvidence& arm) {
  return static_cast<double>(arm.errors) / static_cast<double>(arm.requests);
}

TEST(Service, HasTheRatesOfTheWorld) {
  World world;
  world.stable_errors = 0.1;
  world.candidate_errors = 0.2;
  const analysis::WindowEvidence seen = EvidenceOf(world, 0.25, 1000);
  EXPECT_NEAR(seen.candidate.requests, 25000, 1000);
  EXPECT_NEAR(seen.stable.requests, 75000, 1000);
  EXPECT_NEAR(ErrorRate(seen.candidate), 0.2, 0.01);
  EXPECT_NEAR(ErrorRate(seen.stable), 0.1, 0.01);
}

TEST(Service, PairsHaveTheSameRatesAndShareTheErrorsOfTheirInputs) {
  World world;
  world.stable_errors = 0.1;
  world.candidate_errors = 0.2;
  world.errors_of_inputs = 0.5;
  const api::PairEvidence pairs = EvidenceOf(world, 0.25, 1000).candidate.pairs;
  const auto of = [&](int64_t count) { return static_cast<double>(count) / static_cast<double>(pairs.pairs); };
  EXPECT_NEAR(pairs.pairs, 25000, 500);
  EXPECT_NEAR(of(pairs.candidate_failed + pairs.both_failed), 0.2, 0.01);
  EXPECT_NEAR(of(pairs.stable_failed + pairs.both_failed), 0.1, 0.01);
  EXPECT_GT(of(pairs.both_failed), 0.05) << "5 % of the inputs fail on both";
}

TEST(Service, RunsBatchesOfManyRowsForTheVersionWithMostOfTheTraffic) {
  World world;
  world.requests_per_second = 1000;
  world.batches.rows_max = 32;
  const analysis::WindowEvidence seen = EvidenceOf(world, 0.05, 100);
  EXPECT_GT(analysis::Total(seen.stable.run_times.at(8)), 0);
  EXPECT_FALSE(seen.candidate.run_times.contains(8));
}

TEST(Service, GivesAKeyTheSameVersionAllTheTime) {
  World world;
  world.users.count = 1;
  world.keyed = true;
  const analysis::WindowEvidence seen = EvidenceOf(world, 0.5, 10);
  EXPECT_EQ(std::min(seen.candidate.requests, seen.stable.requests), 0);
}

TEST(Service, CountsTheBinsOfUsersAndTheRequestsThatTheCandidateRefuses) {
  World world;
  world.users.count = 1000;
  world.keyed = true;
  world.hidden.refused_share = 0.1;
  const analysis::WindowEvidence seen = EvidenceOf(world, 0.25, 1000);
  const auto sum = [](const std::vector<int64_t>& counts) { return std::accumulate(counts.begin(), counts.end(), 0); };
  const api::ArmEvidence& candidate = seen.candidate;
  EXPECT_NEAR(static_cast<double>(candidate.overloaded) / sum(candidate.bins.requests), 0.1, 0.01);
  EXPECT_EQ(sum(candidate.bins.requests), candidate.requests + candidate.overloaded);
  EXPECT_EQ(sum(candidate.bins.bad), candidate.errors + candidate.overloaded);
  EXPECT_LE(candidate.bins.requests.size(), 50u);
  EXPECT_EQ(sum(seen.stable.bins.requests), seen.stable.requests);
  EXPECT_EQ(seen.stable.overloaded, 0);
  EXPECT_EQ(seen.stable.bins.requests[49], 0);
  EXPECT_TRUE(EvidenceOf({}, 0.25, 10).stable.bins.salt.empty()) << "requests without keys are in no bin";
}

TEST(Service, DropsThePairsThatTheBudgetDoesNotAllow) {
  World world;
  Service service(world, {.share = 1, .per_second_max = 3}, 5);
  Period period;
  for (int i = 0; i < 10; ++i) service.AddSecond(0.5, true, period);
  EXPECT_EQ(analysis::Sum(period.windows).candidate.pairs.pairs, 30);
  EXPECT_FALSE(period.stable_run_times_us.empty());
}

// Worlds in which the errors differ between users and over time.
World WorldWithBursts() {
  World world;
  world.conditions = {.nodes = 3, .burst_every_seconds = 20, .burst_errors = 0.5};
  return world;
}

World WorldWithFailingUsers() {
  World world;
  world.users = {50, 0.3, 0.1, 0.3};
  world.keyed = true;
  return world;
}

TEST(Service, CountsTheSameErrorsWithoutSimulatingEachRequest) {
  for (const World& world : {World{}, WorldWithBursts(), WorldWithFailingUsers()}) {
    const analysis::WindowEvidence wanted = EvidenceOf(world, 0.25, 6000, 0);
    Service service(world, {}, 5);
    const Service::Flows flows = service.EqualFlows(0.25);
    Period period;
    for (int i = 0; i < 6000; ++i) service.AddCounts(flows, period);
    const analysis::WindowEvidence seen = analysis::Sum(period.windows);
    EXPECT_NEAR(static_cast<double>(seen.candidate.requests) / static_cast<double>(wanted.candidate.requests), 1, 0.02);
    EXPECT_NEAR(static_cast<double>(seen.stable.requests) / static_cast<double>(wanted.stable.requests), 1, 0.02);
    EXPECT_NEAR(ErrorRate(seen.candidate) / ErrorRate(wanted.candidate), 1, 0.1);
    EXPECT_NEAR(ErrorRate(seen.stable) / ErrorRate(wanted.stable), 1, 0.1);
  }
}

TEST(Service, KnowsTheShareOfStablesErrorsInTheLongRun) {
  for (const World& world : {World{}, WorldWithBursts(), WorldWithFailingUsers()}) {
    const double wanted = ErrorRate(EvidenceOf(world, 0, 40000, 0).stable);
    EXPECT_NEAR(Service(world, {}, 5).StableErrors() / wanted, 1, 0.04);
  }
}

TEST(Service, SimulatesOnlyWhatIsNeededWithTheSameRates) {
  World world;
  world.stable_errors = world.candidate_errors = 0.1;
  world.batches.rows_max = 8;
  const auto run = [&](Service::Only only) {
    Service service(world, {.share = 0}, 5, only);
    Period period;
    for (int i = 0; i < 1000; ++i) service.AddSecond(0.25, true, period);
    return period;
  };
  const Period all = run(Service::Only::kEverything);
  const Period errors = run(Service::Only::kErrors);
  const Period run_times = run(Service::Only::kRunTimes);
  EXPECT_NEAR(ErrorRate(errors.windows.at("a").stable), ErrorRate(all.windows.at("a").stable), 0.01);
  EXPECT_TRUE(errors.stable_run_times_us.empty());
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  EXPECT_NEAR(mean(run_times.candidate_run_times_us) / mean(all.candidate_run_times_us), 1, 0.01);
  EXPECT_EQ(std::ssize(run_times.candidate_run_times_us), run_times.windows.at("a").candidate.requests);
  EXPECT_EQ(run_times.windows.at("a").stable.errors, 0);
}

TEST(Service, RepeatsItselfForTheSameSeed) {
  EXPECT_EQ(EvidenceOf({}, 0.5, 10).candidate, EvidenceOf({}, 0.5, 10).candidate);
}

}  // namespace
}  // namespace longshore::sim
