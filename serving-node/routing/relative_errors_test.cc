#include "serving-node/routing/relative_errors.h"

#include <gmock/gmock.h>

#include <random>
#include <thread>

#include "tests/seeds/seeds.h"

namespace longshore::routing {
namespace {

struct World {
  double candidate_share = 0.5;
  double candidate_errors = 0;
  double stable_errors = 0;
  int requests = 4000;
};

// Returns the number of requests of the candidate until the test finds that it is worse; 0: it never does.
int Simulate(const World& world, double alpha, uint64_t seed) {
  std::mt19937_64 random(seed);
  RelativeErrors errors;
  int of_candidate = 0;
  const auto is = [&random](double share) { return std::bernoulli_distribution(share)(random); };
  for (int i = 0; i < world.requests; ++i) {
    if (!is(world.candidate_share)) {
      errors.CountStable(is(world.stable_errors));
    } else {
      of_candidate += 1;
      if (!errors.CountCandidate(is(world.candidate_errors), alpha).why.empty()) return of_candidate;
    }
  }
  return 0;
}

int WorldsThatTrip(const World& world, double alpha, int worlds) {
  const uint64_t first = seeds::First(static_cast<uint64_t>(worlds));
  int trips = 0;
  for (int i = 0; i < worlds; ++i) trips += Simulate(world, alpha, first + static_cast<uint64_t>(i)) > 0 ? 1 : 0;
  return trips;
}

TEST(RelativeErrors, SeldomFindThatAnEqualVersionIsWorse) {
  for (const double share : {0.05, 0.5, 0.9}) {
    for (const double rate : {0.001, 0.08, 0.5}) {
      const int trips =
          WorldsThatTrip({.candidate_share = share, .candidate_errors = rate, .stable_errors = rate}, 0.1, 200);
      EXPECT_LE(trips, 38) << "at most 20 are expected, and more than 38 have a probability of 1e-4";
    }
  }
}

TEST(RelativeErrors, DoNotBlameAFixThatStillFails) {
  const World world{.candidate_errors = 0.06, .stable_errors = 0.08, .requests = 20'000};
  EXPECT_LE(WorldsThatTrip(world, 0.001, 100), 2);
}

TEST(RelativeErrors, FindAVersionThatIsWorse) {
  EXPECT_GE(WorldsThatTrip({.candidate_errors = 0.1, .stable_errors = 0.01}, 0.001, 100), 99);
  EXPECT_GE(WorldsThatTrip({.candidate_errors = 0.1, .stable_errors = 0.05, .requests = 10'000}, 0.001, 100), 99);
}

TEST(RelativeErrors, FindAVersionThatAlwaysFailsWithinThreeBlocks) {
  for (const double share : {0.05, 0.5}) {
    const World world{.candidate_share = share, .candidate_errors = 1, .stable_errors = 0.001};
    const int requests = Simulate(world, 0.001, seeds::First());
    EXPECT_GT(requests, 0);
    EXPECT_LE(requests, 24);
  }
}

TEST(RelativeErrors, BlocksEndAtNumbersOfRequestsAndNotAtErrors) {
  RelativeErrors errors;
  for (int i = 0; i < 100; ++i) errors.CountStable(false);
  for (int i = 1; i <= 16; ++i) {
    const auto verdict = errors.CountCandidate(true, 0.1);
    EXPECT_EQ(verdict.why.empty(), i % 8 != 0) << i;
    errors.CountStable(false);
  }
}

TEST(RelativeErrors, SayNothingWithoutRequestsOfStable) {
  RelativeErrors errors;
  bool alone = false;
  for (int i = 1; i <= 1000; ++i) {
    const auto verdict = errors.CountCandidate(true, 0.1);
    EXPECT_EQ(verdict.why, "");
    alone = alone || verdict.alone;
    EXPECT_EQ(alone, i >= 200) << i;
  }
  errors.CountStable(false);
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(errors.CountCandidate(false, 0.1).alone);
}

// Stable had no requests for so long that its next one was not measured under the same conditions.
TEST(RelativeErrors, ForgetALongTimeWithoutRequestsOfStable) {
  RelativeErrors errors;
  for (uint32_t i = 0; i < RelativeErrors::kAloneMax; ++i) errors.CountCandidate(true, 0.1);
  for (int i = 0; i < 100; ++i) errors.CountStable(false);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(errors.CountCandidate(false, 0.1).why, "");
}

TEST(RelativeErrors, LoseNoCountWithManyThreads) {
  RelativeErrors errors;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&errors] {
      for (int i = 0; i < 1000; ++i) {
        errors.CountStable(i % 10 == 0);
        errors.CountCandidate(i % 10 == 0, 1e-300);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (int i = 0; i < 7; ++i) errors.CountCandidate(true, 0.9);
  errors.CountStable(false);
  constexpr double kAlways = 1e300;
  EXPECT_THAT(errors.CountCandidate(true, kAlways).why,
              testing::HasSubstr("408 of 4008 requests failed, but only 400 of 4001 of stable"));
}

}  // namespace
}  // namespace longshore::routing
