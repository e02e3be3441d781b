#include "tests/sim/peer_choice.h"

#include <gtest/gtest.h>

#include <array>

namespace longshore::sim {
namespace {

Outcomes Found(std::vector<double> requests) { return {std::move(requests)}; }

TEST(Outcomes, HaveTheMedianOfAllRolloutsWithAnInfinityForEachMiss) {
  EXPECT_EQ(Found({30, kNever, 10}).Median(), 30);
  EXPECT_EQ(Found({20, 10, kNever, kNever}).Median(), 20) << "half of them were found";
  EXPECT_EQ(Found({10, kNever, kNever}).Median(), std::nullopt);
  EXPECT_EQ(Found({}).Median(), std::nullopt);
  EXPECT_EQ(Found({10, kNever, kNever}).RolledBack().count, 1);
}

const Outcomes kSoon = Found({100});
const Outcomes kLater = Found({200});
const Outcomes kLast = Found({300});

TEST(ChooseSetting, TakesTheSmallestMedian) {
  EXPECT_EQ(ChooseSetting(std::array{Tried{5, 0, &kLast}, Tried{6, 0.01, &kSoon}, Tried{7, 0, &kLater}}, 0.01), 6);
}

TEST(ChooseSetting, LeavesOutSettingsWithTooManyFalseAlarms) {
  EXPECT_EQ(ChooseSetting(std::array{Tried{5, 0.01, &kLast}, Tried{6, 0.0105, &kSoon}}, 0.01), 5);
}

TEST(ChooseSetting, TakesOfEqualMediansTheOneThatMissesFewerAndThenTheFirst) {
  const Outcomes missed = Found({10, 10, kNever});
  const Outcomes found = Found({10, 10, 900});
  EXPECT_EQ(ChooseSetting(std::array{Tried{0, 0, &missed}, Tried{1, 0, &found}, Tried{2, 0, &found}}, 0.01), 1);
}

TEST(ChooseSetting, FindsNoneIfAFaultIsMissedInMostRollouts) {
  const Outcomes missed = Found({10, kNever, kNever});
  EXPECT_EQ(ChooseSetting(std::array{Tried{0, 0, &missed}, Tried{1, 0.05, &kSoon}}, 0.01), std::nullopt);
  EXPECT_EQ(ChooseSetting({}, 0.01), std::nullopt);
}

TEST(Shortlist, HasTheBestOfEachShareOfFalseAlarmsInTheOrderOfTheSettings) {
  const std::array tried{Tried{3, 0.02, &kSoon}, Tried{4, 0.02, &kLater}, Tried{5, 0.001, &kLast},
                         Tried{6, 0.04, &kSoon}};
  EXPECT_EQ(Shortlist(tried, std::array{0.03, 0.01}, 1), (std::vector<size_t>{3, 5}));
  EXPECT_EQ(Shortlist(tried, std::array{0.03, 0.01}, 2), (std::vector<size_t>{3, 4, 5}));
}

TEST(Shortlist, LeavesOutSettingsThatMissTheFault) {
  const Outcomes missed = Found({10, kNever, kNever});
  EXPECT_TRUE(Shortlist(std::array{Tried{0, 0, &missed}}, std::array{0.03}, 5).empty());
}

}  // namespace
}  // namespace longshore::sim
