#include "tests/sim/trials.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "tests/sim/report.h"

namespace longshore::sim {
namespace {

// A small version of the table in docs/analysis.md. It is large enough to show that the rules find nothing or
// everything, or that an assumption does not hold.
class EqualVersions : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Of, EqualVersions, testing::ValuesIn(AllKinds()));

TEST_P(EqualVersions, AreRolledBackInAtMostOneOfAHundredAndArePromoted) {
  const Ends ends = RunEqual(GetParam(), 100, {.count = 150, .seed = 7, .threads = 2});
  std::cout << NameOf(GetParam()) << ": " << ends.rolled_back.count << " of " << ends.rolled_back.trials
            << " equal versions rolled back, " << ends.promoted_in_time.count << " promoted in time\n";
  // With a probability of 1 % each, more than 6 of 150 would be rolled back in one run of 800.
  EXPECT_LE(ends.rolled_back.count, 6);
  EXPECT_GE(ends.promoted_in_time.value(), 0.9);
}

TEST(DoubledErrors, AreNotPromoted) {
  const Ends ends = RunDoubledErrors(100, {.count = 200, .seed = 7, .threads = 2});
  EXPECT_LE(ends.promoted.count, 10);
  EXPECT_GE(ends.rolled_back.count, 190);
}

TEST(Fault, IsFoundInEveryWorldInWhichItExists) {
  for (const Fault& fault : AllFaults(100)) {
    const Delay delay = RunFault(fault.world, {.count = 20, .seed = 7, .threads = 2});
    EXPECT_GE(delay.found.count, 19) << fault.name;
    std::cout << fault.name << ": " << delay.median << " requests, " << delay.median_pairs << " pairs\n";
  }
}

TEST(BinsFault, IsFoundWithoutPairsAndSoonerWithTheTimeBefore) {
  std::vector<Delay> delays;
  for (const BinsFault& fault : AllBinsFaults(100)) {
    delays.push_back(RunFault(fault.drawn, {.count = 40, .seed = 7, .threads = 2}));
    std::cout << fault.name << ": found in " << delays.back().found.count << " of " << delays.back().found.trials
              << " rollouts, median " << delays.back().median << " requests\n";
  }
  ASSERT_EQ(delays.size(), 4u);
  EXPECT_GE(delays[0].found.count, 38);
  EXPECT_GE(delays[1].found.count, 38);
  EXPECT_GT(delays[3].found.count, delays[2].found.count + 10);
}

TEST(Rollouts, DoNotDependOnTheNumberOfThreads) {
  const Ends one = RunEqual(Kind::kTenants, 100, {.count = 9, .seed = 3, .threads = 1});
  const Ends three = RunEqual(Kind::kTenants, 100, {.count = 9, .seed = 3, .threads = 3});
  EXPECT_EQ(one.requests, three.requests);
}

TEST(Row, MeetsItsGoalUpToTheRatio) {
  Row row{.what = "fault", .peer = "peer", .ours = 120, .theirs = 100, .goal = 1.2};
  EXPECT_EQ(row.Meets(), true);
  row.ours = 121;
  EXPECT_EQ(row.Meets(), false);
  EXPECT_FALSE(MeetsGoals({row}));
  row.better = Better::kHigher;
  EXPECT_EQ(row.Meets(), true);
}

TEST(Row, MissesItsGoalWhenOnlyThePeerHasANumber) {
  const Row row{.what = "fault", .peer = "peer", .ours = std::nullopt, .theirs = 100};
  EXPECT_EQ(ToJson(std::vector{row})["rows"][0]["met"], false);
}

TEST(Row, MeetsItsGoalWhenThePeerHasNoNumber) {
  const Row row{.what = "fault", .peer = "peer", .ours = 100, .theirs = std::nullopt};
  EXPECT_EQ(ToJson(std::vector{row})["rows"][0]["met"], true);
  EXPECT_TRUE(ToJson(std::vector{row})["rows"][0]["theirs"].is_null());
}

TEST(Share, HasTheUpperBoundOfClopperAndPearson) {
  EXPECT_NEAR((Share{0, 40}.UpperBound()), 1 - std::pow(0.05, 1.0 / 40), 1e-6);
  EXPECT_NEAR((Share{8, 10000}.UpperBound()), 0.001443, 1e-5);
  EXPECT_EQ((Share{5, 5}.UpperBound()), 1);
}

}  // namespace
}  // namespace longshore::sim
