#include "tests/sim/peer_choice.h"

#include <gtest/gtest.h>

namespace longshore::sim {
namespace {

// A setting that rolls back `alarms` of 100 equal versions.
Outcomes Alarms(int alarms) {
  Outcomes outcomes;
  outcomes.requests.assign(100, kNever);
  for (int i = 0; i < alarms; ++i) outcomes.requests[static_cast<size_t>(i)] = 50;
  return outcomes;
}

Outcomes Found(std::vector<double> requests) { return {std::move(requests)}; }

TEST(Outcomes, HaveTheMedianOfAllRolloutsWithAnInfinityForEachMiss) {
  EXPECT_EQ(Found({30, kNever, 10}).Median(), 30);
  EXPECT_EQ(Found({20, 10, kNever, kNever}).Median(), 20) << "half of them were found";
  EXPECT_EQ(Found({10, kNever, kNever}).Median(), std::nullopt);
  EXPECT_EQ(Found({}).Median(), std::nullopt);
  EXPECT_EQ(Found({10, kNever, kNever}).RolledBack().count, 1);
}

TEST(ChooseSetting, TakesTheSmallestMedian) {
  EXPECT_EQ(ChooseSetting({Alarms(0), Alarms(1), Alarms(0)}, {Found({300}), Found({100}), Found({200})}, 0.01), 1);
}

TEST(ChooseSetting, LeavesOutSettingsWithTooManyFalseAlarms) {
  EXPECT_EQ(ChooseSetting({Alarms(1), Alarms(2)}, {Found({300}), Found({100})}, 0.01), 0);
}

TEST(ChooseSetting, TakesOfEqualMediansTheOneThatMissesFewer) {
  EXPECT_EQ(ChooseSetting({Alarms(0), Alarms(0)}, {Found({10, 10, kNever}), Found({10, 10, 900})}, 0.01), 1);
}

TEST(ChooseSetting, FindsNoneIfAFaultIsMissedInMostRollouts) {
  EXPECT_EQ(ChooseSetting({Alarms(0), Alarms(5)}, {Found({10, kNever, kNever}), Found({10, 10, 10})}, 0.01),
            std::nullopt);
}

}  // namespace
}  // namespace longshore::sim
