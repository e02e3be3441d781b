#include "common/statistics/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace longshore::statistics {
namespace {

double POf(const std::vector<double>& values, size_t chosen, double limit = 1e-4) {
  return PermutationP(values, {.chosen = chosen, .limit = limit, .seed = 1});
}

// The mean of the p-values over many seeds. With a limit of 1e-3 there are enough tries for a share of 0.1 or more.
double MeanP(const std::vector<double>& values, size_t chosen, double limit) {
  double sum = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    sum += PermutationP(values, {.chosen = chosen, .limit = limit, .seed = seed});
  }
  return sum / 200;
}

TEST(PermutationP, IsTheShareOfTheChoicesWithAtLeastTheSameSum) {
  // There are ten ways to choose two of these values. One of them has the sum 9.
  EXPECT_NEAR(MeanP({5, 4, 3, 2, 1}, 2, 0.2), 0.1, 0.05);
  EXPECT_NEAR(MeanP({2, 1, 3, 4, 5}, 3, 0.9), 1, 0.05);
}

TEST(PermutationP, IsSmallForOutliersInBothSmallAndLargeGroups) {
  std::vector<double> values(200, 0.0);
  std::fill_n(values.begin(), 10, 1.0);
  EXPECT_LE(POf(values, 10), 1e-4);
  std::ranges::fill(values, 0.0);
  std::fill_n(values.begin(), 190, 1.0);
  EXPECT_LE(POf(values, 190), 1e-4);
  EXPECT_GT(POf(values, 10), 1e-4) << "choices without one of the zeros are common";
}

TEST(PermutationP, IsOneIfAllValuesAreEqual) { EXPECT_EQ(POf(std::vector<double>(200, 0.1), 77), 1); }

// The values are very unequal, as those of users are.
TEST(PermutationP, IsAtMostTheLimitAsOftenAsTheLimitSaysIfTheGroupIsARandomChoice) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> draw(0, 3);
  for (const double limit : {0.5, 0.1, 0.02}) {
    constexpr int kTrials = 4000;
    int below = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> values(200);
      std::ranges::generate(values, [&] { return draw(random); });
      below +=
          PermutationP(values, {.chosen = 20, .limit = limit, .seed = static_cast<uint64_t>(trial)}) <= limit ? 1 : 0;
    }
    EXPECT_NEAR(below, limit * kTrials, 4 * std::sqrt(limit * kTrials)) << limit;
  }
}

TEST(PermutationP, RepeatsItselfForTheSameSeed) {
  std::vector<double> values;
  for (int i = 0; i < 50; ++i) values.push_back(i * 7 % 13);
  EXPECT_EQ(POf(values, 9, 0.01), POf(values, 9, 0.01));
}

}  // namespace
}  // namespace longshore::statistics
