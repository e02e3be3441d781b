#include "tests/sim/trials.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

namespace longshore::sim {
namespace {

class EqualVersions : public testing::TestWithParam<Requests> {};
INSTANTIATE_TEST_SUITE_P(Of, EqualVersions, testing::Values(Requests::kIndependent, Requests::kCorrelated));

TEST_P(EqualVersions, AreRolledBackInAtMostOneOfAHundred) {
  const Falses falses = RunEqualVersions(GetParam(), 1000, 100, 7);
  std::cout << falses.rolled_back.count << " of " << falses.rolled_back.trials << " equal versions rolled back\n";
  EXPECT_LE(falses.rolled_back.value(), 0.01);
  EXPECT_GT(falses.requests, 1000 * 2000) << "rollouts that end early prove nothing";
}

// A small version of the table in docs/analysis.md. It is large enough to show that a rule finds nothing or everything.
TEST(WorseVersions, AreFoundAndComparedWithThePeersBestSetting) {
  Options options;
  options.equal_rollouts = 10;
  options.equal_requests_min = 100;
  options.trials = 10;
  options.requests_per_second = {10};
  const Report report = Simulate(options);
  int compared = 0;
  for (const Row& row : report.rows) {
    EXPECT_GE(row.ours.delay.found.count, 8) << row.what;
    EXPECT_EQ(row.ours.equal_rolled_back.count, 0) << row.what;
    EXPECT_GE(row.ours.equal_rolled_back.trials, kFalseTrialsMin) << row.what;
    compared += row.IsCompared() ? 1 : 0;
    if (row.is_example) continue;
    EXPECT_LE(row.theirs.equal_rolled_back.value(), kPeerFalseShareMax) << row.peer;
    EXPECT_GT(row.theirs.delay.median, 0) << row.peer;
  }
  EXPECT_EQ(compared, 3) << ToText(report);
}

Delay DelayOf(double median) { return {{10, 10}, median, median}; }

Report ReportOf(const Row& row) { return {{}, {row}}; }

// A row that is compared and meets its goal.
Row GoodRow() { return {"fault", 100, "peer", false, {DelayOf(100), {0, 40}}, {DelayOf(100), {2, 40}}}; }

TEST(Row, MeetsItsGoalUpToAFifthMoreRequestsThanThePeer) {
  Row row = GoodRow();
  EXPECT_EQ(ToJson(ReportOf(row))["rows"][0]["met"], true);
  EXPECT_TRUE(MeetsGoals(ToJson(ReportOf(row))));
  row.ours.delay = DelayOf(121);
  EXPECT_EQ(ToJson(ReportOf(row))["rows"][0]["met"], false);
  EXPECT_FALSE(MeetsGoals(ToJson(ReportOf(row))));
}

TEST(Row, MissesItsGoalWhenOnlyThePeerFindsTheFault) {
  Row row = GoodRow();
  row.ours.delay = DelayOf(0);
  EXPECT_EQ(ToJson(ReportOf(row))["rows"][0]["met"], false);
}

TEST(Row, IsNotComparedAndDoesNotSatisfyTheGateWhenThePeerFindsNothing) {
  Row row = GoodRow();
  row.theirs.delay = DelayOf(0);
  const Json json = ToJson(ReportOf(row));
  EXPECT_TRUE(json["rows"][0]["met"].is_null());
  EXPECT_EQ(json["rows"][0]["compared"], false);
  EXPECT_FALSE(MeetsGoals(json));
}

TEST(Row, IsNotComparedWhenThePeerHasMoreThanFivePercentFalseAlarms) {
  Row row = GoodRow();
  row.theirs.equal_rolled_back = {3, 40};
  EXPECT_TRUE(ToJson(ReportOf(row))["rows"][0]["met"].is_null());
  EXPECT_FALSE(MeetsGoals(ToJson(ReportOf(row))));
}

TEST(Row, OfADocumentedExampleHasNoGoal) {
  Row row = GoodRow();
  row.is_example = true;
  const Json json = ToJson(ReportOf(row));
  EXPECT_TRUE(json["rows"][0]["goal"].is_null());
  EXPECT_TRUE(json["rows"][0]["met"].is_null());
  EXPECT_TRUE(MeetsGoals(json));
}

TEST(Share, HasTheUpperBoundOfClopperAndPearson) {
  EXPECT_NEAR((Share{0, 40}.UpperBound()), 1 - std::pow(0.05, 1.0 / 40), 1e-6);
  EXPECT_NEAR((Share{8, 10000}.UpperBound()), 0.001443, 1e-5);
  EXPECT_EQ((Share{5, 5}.UpperBound()), 1);
}

TEST(Limit, RollsBackAtItsNumberOfFailedLooks) {
  const std::vector<Look> looks = {{10, 0.02}, {20, 0.01}, {30, 0.03}, {40, 0.02}};
  EXPECT_EQ(RequestsUntilRollback(looks, {0.01, 1}), 10);
  EXPECT_EQ(RequestsUntilRollback(looks, {0.01, 2}), 30);
  EXPECT_EQ(RequestsUntilRollback(looks, {0.02, 2}), std::nullopt);
}

TEST(Limit, IsTheLowestWithAllowedFalseAlarms) {
  std::vector<std::vector<Look>> rollouts;
  for (int i = 1; i <= 40; ++i) rollouts.push_back({{10, 0.01 * i}, {20, 0.001 * i}});
  EXPECT_DOUBLE_EQ(LowestLimit(rollouts, 1, 0.05), 0.38);
  EXPECT_DOUBLE_EQ(LowestLimit(rollouts, 2, 0.05), 0.038);
  EXPECT_EQ(LowestLimit(rollouts, 3, 0.05), 0);
}

TEST(Looks, MeasureTheCandidatesRequestsOfEachInterval) {
  World world;
  world.candidate_errors = 1;
  const auto looks = LooksAt(world, {Metric::kErrorShare, 60, 130}, 1);
  ASSERT_EQ(looks.size(), 2u);
  EXPECT_NEAR(looks[0].candidates, 1500, 150);
  EXPECT_NEAR(looks[1].candidates, 3000, 200);
  EXPECT_EQ(looks[1].measurement, 1);
  world.run_time_sigma = 0;
  EXPECT_NEAR(LooksAt(world, {Metric::kP99, 60, 130}, 1)[0].measurement, 10000, 1e-6);
}

}  // namespace
}  // namespace longshore::sim
