#include "controller/decide/analysis/pairs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace longshore::analysis {
namespace {

api::PairEvidence OneRatio(int bucket) {
  api::PairEvidence pairs{.pairs = 1};
  pairs.ratio_buckets.resize(static_cast<size_t>(bucket) + 1);
  pairs.ratio_buckets.back() = 1;
  return pairs;
}

TEST(Pairs, AddUpBucketByBucketAndIgnoreBucketsThatDoNotExist) {
  api::PairEvidence total = OneRatio(3);
  api::PairEvidence more = OneRatio(7);
  more.ratio_buckets.resize(kRatioBuckets + 10, 1);
  Add(more, total);
  EXPECT_EQ(total.pairs, 2);
  EXPECT_EQ(total.ratio_buckets.size(), static_cast<size_t>(kRatioBuckets));
  EXPECT_EQ(total.ratio_buckets[3], 1);
  EXPECT_EQ(total.ratio_buckets[7], 1);
}

TEST(Pairs, ARatioOfOneIsNotAboveAToleranceOfZero) {
  const Throws throws = RunTimeThrows(OneRatio(kRatioBucketOfOne), {0, 0});
  EXPECT_EQ(throws.candidate, 0);
  EXPECT_EQ(throws.stable, 1);
}

TEST(Pairs, TheToleranceMovesTheCentre) {
  EXPECT_EQ(RunTimeThrows(OneRatio(kRatioBucketOfOne + 2), {2, 0}).candidate, 0);
  EXPECT_EQ(RunTimeThrows(OneRatio(kRatioBucketOfOne + 3), {2, 0}).candidate, 1);
}

TEST(Pairs, AMarginLeavesOutPairsNearTheCentre) {
  const auto total = [](int bucket) {
    const Throws throws = RunTimeThrows(OneRatio(bucket), {2, 16});
    return throws.candidate - throws.stable;
  };
  EXPECT_EQ(total(kRatioBucketOfOne + 2 + 16), 0);
  EXPECT_EQ(total(kRatioBucketOfOne + 2 + 17), 1);
  EXPECT_EQ(total(kRatioBucketOfOne + 2 - 15), 0);
  EXPECT_EQ(total(kRatioBucketOfOne + 2 - 16), -1);
}

TEST(Pairs, AFairCoinGivesAMeanOfOne) {
  for (const Mixture coins : {Mixture(kWorseCoins), Mixture(kBetterCoins)}) {
    EProcess heads, tails;
    TestCoin({1, 0}, coins, heads);
    TestCoin({0, 1}, coins, tails);
    for (size_t i = 0; i < coins.size(); ++i) {
      EXPECT_NEAR((std::exp(heads.log_e[i]) + std::exp(tails.log_e[i])) / 2, 1, 1e-12);
    }
  }
}

TEST(Pairs, WeightsOfTheMixturesAddUpToOne) {
  for (const Mixture mixture : {Mixture(kWorseCoins), Mixture(kBetterCoins), Mixture(kBets), Mixture(kMargins)}) {
    double sum = 0;
    for (const Alternative& one : mixture) sum += one.weight;
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

// The probabilities of the four results of a pair.
struct Results {
  double candidate_failed;
  double stable_failed;
  double both_failed;
};

TEST(Pairs, AProofOfTheErrorsHasAMeanOfAtMostOneIfTheCandidateIsWorseByTheTolerance) {
  const ErrorTolerance tolerance;
  // The candidate's rate less stable's is 0.02 - 0.01 = 0.01; half of stable's 2 % is 0.01; and so on.
  const std::vector<Results> worse_by_the_tolerance = {
      {0.02, 0.01, 0.01}, {0.005, 0, 0}, {0.1, 0.05, 0.05}, {0.25, 0.0, 0.5}, {0.3, 0.05, 0.2}};
  for (const Results& results : worse_by_the_tolerance) {
    const auto factor = [&](const api::PairEvidence& pairs, size_t i) {
      EProcess process;
      ProvePairErrors(pairs, tolerance, process);
      return std::exp(process.log_e[i]);
    };
    for (size_t i = 0; i < kBets.size(); ++i) {
      const double rest = 1 - results.candidate_failed - results.stable_failed - results.both_failed;
      const double mean = results.candidate_failed * factor({.pairs = 1, .candidate_failed = 1}, i) +
                          results.stable_failed * factor({.pairs = 1, .stable_failed = 1}, i) +
                          results.both_failed * factor({.pairs = 1, .both_failed = 1}, i) +
                          rest * factor({.pairs = 1}, i);
      EXPECT_LE(mean, 1 + 1e-12) << results.candidate_failed << " bet " << i;
    }
  }
}

}  // namespace
}  // namespace longshore::analysis
