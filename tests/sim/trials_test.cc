#include "tests/sim/trials.h"

#include <gtest/gtest.h>

#include <iostream>

namespace longshore::sim {
namespace {

class EqualVersions : public testing::TestWithParam<Requests> {};
INSTANTIATE_TEST_SUITE_P(Of, EqualVersions, testing::Values(Requests::kIndependent, Requests::kCorrelated));

TEST_P(EqualVersions, AreRolledBackInAtMostOneOfAHundred) {
  const Falses falses = RunEqualVersions(GetParam(), 1000, 100, 7);
  std::cout << falses.rolled_back << " of " << falses.rollouts << " equal versions rolled back\n";
  EXPECT_LE(falses.Share(), 0.01);
  EXPECT_GT(falses.requests, 1000 * 2000) << "rollouts that end early prove nothing";
}

// A small version of the table in docs/analysis.md: it fails if a rule finds nothing or reports everything.
TEST(WorseVersions, AreFoundSoonerThanByFixedThresholds) {
  Options options;
  options.equal_rollouts = 10;
  options.equal_requests_min = 100;
  options.trials = 8;
  const Report report = Simulate(options);
  for (const Row& row : report.rows) {
    EXPECT_EQ(row.ours.found, row.ours.trials) << row.what;
    EXPECT_EQ(row.ours_false, 0) << row.what;
    EXPECT_LT(row.ours.median, 10000) << row.what;
  }
  const Json json = ToJson(report);
  for (const Json& row : json["rows"]) EXPECT_TRUE(row["met"].get<bool>()) << row.dump();
}

TEST(ThresholdRule, NeedsItsNumberOfFailedLooks) {
  ThresholdRule rule({0.99, {}, 60, 2});
  const Request bad{true, true, 1000};
  EXPECT_FALSE(rule.RollsBack(bad, 1));
  EXPECT_FALSE(rule.RollsBack(bad, 61));
  EXPECT_TRUE(rule.RollsBack(bad, 121));
}

}  // namespace
}  // namespace longshore::sim
