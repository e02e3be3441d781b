#include "common/statistics/evalue.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "common/statistics/rates.h"
#include "common/statistics/testing.h"

namespace longshore::statistics {
namespace {

double MeanE(int n_c, int n_s, double true_candidate, double true_stable, double alternative_candidate,
             double alternative_stable) {
  return MeanOverResults(n_c, n_s, true_candidate, true_stable, [&](const Block& block) {
    return LogEValue(block, alternative_candidate, alternative_stable);
  });
}

TEST(EValue, HasAMeanOfAtMostOneWheneverTheCandidateIsNoWorse) {
  for (const auto& [n_c, n_s] : {std::pair{1, 1}, {1, 19}, {5, 20}, {12, 4}}) {
    for (const double stable : {0.001, 0.01, 0.1, 0.5, 0.9}) {
      for (const double better : {1.0, 0.8, 0.3, 0.0}) {
        for (const double assumed : {0.001, 0.05, 0.5}) {
          for (const auto& [ratio, _] : kWorseOdds) {
            const double mean = MeanE(n_c, n_s, stable * better, stable, WithOdds(assumed, ratio), assumed);
            EXPECT_LE(mean, 1 + 1e-9) << n_c << " " << n_s << " " << stable << " " << better << " " << assumed << " "
                                      << ratio;
          }
        }
      }
    }
  }
}

TEST(EValue, GrowsWhenTheCandidateIsWorse) { EXPECT_GT(MeanE(5, 20, 0.2, 0.05, WithOdds(0.05, 5), 0.05), 1.2); }

TEST(EValue, AgainstAFixedRateHasAMeanOfAtMostOneBelowIt) {
  for (const double rate : {0.0, 0.05, 0.1}) {
    double mean = 0;
    for (int e = 0; e <= 20; ++e) mean += ProbabilityOf(20, e, rate) * std::exp(LogEValueAgainst(0.1, 20, e, 0.3));
    EXPECT_LE(mean, 1 + 1e-9) << rate;
  }
}

TEST(EValue, OneArmAloneProvesNothing) {
  EXPECT_EQ(LogEValue({10, 10, 0, 0}, 0.5, 0.1), 0);
  EXPECT_EQ(LogEValue({0, 0, 10, 0}, 0.5, 0.1), 0);
}

TEST(Rates, AProofHasAMeanOfAtMostOneIfTheCandidateHasAtLeastAsManyEvents) {
  for (const double stable : {0.1, 0.5}) {
    for (const double worse : {1.0, 1.5}) {
      for (const auto& [ratio, _] : kBetterOdds) {
        EXPECT_LE(MeanE(4, 6, stable * worse, stable, WithOdds(0.3, ratio), 0.3), 1 + 1e-9) << stable << " " << ratio;
      }
    }
  }
}

TEST(Rates, WeightsOfTheMixturesAddUpToOne) {
  for (const Mixture mixture : {Mixture(kWorseOdds), Mixture(kBetterOdds)}) {
    double sum = 0;
    for (const Alternative& one : mixture) sum += one.weight;
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST(Rates, AnEstimateOfFewRequestsIsDrawnTowardsOnePercent) {
  EXPECT_NEAR(EstimateRate(0, 0), 0.01, 1e-12);
  EXPECT_NEAR(EstimateRate(500, 1000), 0.5, 0.01);
  EXPECT_EQ(EstimateRate(1000, 1000), 0.99);
}

TEST(EProcess, TheMeanOfLogarithmsDoesNotOverflow) {
  EXPECT_NEAR(LogWeightedMean({{1, 1000}, {1, 1000}}), 1000, 1e-9);
  EXPECT_NEAR(LogWeightedMean({{1, 1000}, {1, 0}}), 1000 - std::log(2), 1e-9);
  EXPECT_NEAR(LogWeightedMean({{0, 1000}, {1, 5}}), 5, 1e-9) << "a weight of 0 does not count";
}

TEST(EProcess, IsOneBeforeTheFirstWindowAndTheWeightedMeanAfterIt) {
  EProcess process;
  EXPECT_EQ(LogE(process, kWorseOdds), 0);
  Multiply(process, kWorseOdds, 2, std::log(9));
  EXPECT_NEAR(LogE(process, kWorseOdds), std::log(1 + 8 * kWorseOdds[2].weight), 1e-12);
}

TEST(EProcess, ForgetsWhatItHasGainedAndNotWhatItHasLost) {
  EProcess process{{3, -2, 0}};
  ForgetGains(process);
  EXPECT_EQ(process.log_e, (std::vector<double>{0, -2, 0}));
}

}  // namespace
}  // namespace longshore::statistics
