#include "controller/decide/analysis/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/statistics/testing.h"

namespace longshore::analysis {
namespace {

using statistics::MeanOverResults;
using statistics::ProbabilityOf;

constexpr ErrorTolerance kDefault{};

TEST(Tolerance, IsTheLargerOfTheAbsoluteAndTheRelativePart) {
  EXPECT_DOUBLE_EQ(kDefault.LimitFor(0), 0.005);
  EXPECT_DOUBLE_EQ(kDefault.LimitFor(0.01), 0.015);
  EXPECT_DOUBLE_EQ(kDefault.LimitFor(0.1), 0.15);
}

TEST(Tolerance, TheEValueOfTooBadHasAMeanOfAtMostOneForEveryRateThatIsTooBad) {
  for (const double assumed : {0.0001, 0.01, 0.1, 0.4}) {
    for (const double stable : {0.0, 0.001, 0.01, 0.05, 0.3}) {
      for (const double worse : {1.0, 1.2, 3.0}) {
        const double candidate = std::min(1.0, stable + worse * (kDefault.LimitFor(stable) - stable));
        const auto log_e = [&](const Block& block) { return LogEValueOfTooBad(block, {assumed, assumed}, kDefault); };
        EXPECT_LE(MeanOverResults(4, 9, candidate, stable, log_e), 1 + 1e-9)
            << assumed << " " << stable << " " << candidate;
        EXPECT_LE(MeanOverResults(7, 2, candidate, stable, log_e), 1 + 1e-9)
            << assumed << " " << stable << " " << candidate;
      }
    }
  }
}

TEST(Tolerance, TheEValueOfTooBadGrowsIfBothVersionsAreEqual) {
  const auto log_e = [&](const Block& block) { return LogEValueOfTooBad(block, {0.05, 0.05}, kDefault); };
  EXPECT_GT(MeanOverResults(20, 20, 0.05, 0.05, log_e), 1.01);
}

TEST(Tolerance, NothingIsLearnedFromOneVersionOrIfTheAlternativeIsTooBadItself) {
  EXPECT_EQ(LogEValueOfTooBad({10, 0, 0, 0}, {0.01, 0.01}, kDefault), 0);
  EXPECT_EQ(LogEValueOfTooBad({10, 0, 10, 0}, {0.02, 0.01}, kDefault), 0);
}

TEST(Tolerance, NearestTooBadIsOnTheBoundaryAndNearerThanItsNeighbours) {
  const auto entropy = [](double p, double q) { return p * std::log(p / q) + (1 - p) * std::log((1 - p) / (1 - q)); };
  for (const double rate : {0.0005, 0.01, 0.02, 0.2}) {
    const Rates nearest = NearestTooBad({rate, rate}, 3, 5, kDefault);
    EXPECT_NEAR(nearest.candidate, kDefault.LimitFor(nearest.stable), 1e-9);
    const auto at = [&](double stable) {
      return 3 * entropy(rate, kDefault.LimitFor(stable)) + 5 * entropy(rate, stable);
    };
    EXPECT_LE(at(nearest.stable), at(nearest.stable * 1.001) + 1e-12);
    EXPECT_LE(at(nearest.stable), at(nearest.stable * 0.999) + 1e-12);
  }
}

TEST(Tolerance, GrowthIsTheMeanOfTheLogarithmPerRequest) {
  const Rates equal{0.05, 0.05};
  double mean = 0;
  for (int c = 0; c <= 6; ++c) {
    for (int s = 0; s <= 6; ++s) {
      mean += ProbabilityOf(6, c, 0.05) * ProbabilityOf(6, s, 0.05) * LogEValueOfTooBad({6, c, 6, s}, equal, kDefault);
    }
  }
  EXPECT_NEAR(GrowthPerRequest(0.5, equal, kDefault), mean / 12, 1e-9);
}

}  // namespace
}  // namespace longshore::analysis
