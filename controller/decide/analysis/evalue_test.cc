#include "controller/decide/analysis/evalue.h"

#include <gtest/gtest.h>

#include <cmath>

#include "controller/decide/analysis/analysis.h"
#include "controller/decide/analysis/histogram.h"

namespace longshore::analysis {
namespace {

double Choose(int n, int k) { return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1)); }
double Binomial(int n, int k, double rate) { return Choose(n, k) * std::pow(rate, k) * std::pow(1 - rate, n - k); }

// The exact mean of E over all outcomes of a block for these true rates (computed, not simulated).
double MeanE(int n_c, int n_s, double true_candidate, double true_stable, double alternative_candidate,
             double alternative_stable) {
  double mean = 0;
  for (int e_c = 0; e_c <= n_c; ++e_c) {
    for (int e_s = 0; e_s <= n_s; ++e_s) {
      const Block block{n_c, e_c, n_s, e_s};
      mean += Binomial(n_c, e_c, true_candidate) * Binomial(n_s, e_s, true_stable) *
              std::exp(LogEValue(block, alternative_candidate, alternative_stable));
    }
  }
  return mean;
}

TEST(EValue, HasAMeanOfAtMostOneWheneverTheCandidateIsNoWorse) {
  for (const auto& [n_c, n_s] : {std::pair{1, 1}, {1, 19}, {5, 20}, {12, 4}}) {
    for (const double stable : {0.001, 0.01, 0.1, 0.5, 0.9}) {
      for (const double better : {1.0, 0.8, 0.3, 0.0}) {
        for (const double assumed : {0.001, 0.05, 0.5}) {
          for (const double ratio : OddsRatios()) {
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
    for (int e = 0; e <= 20; ++e) mean += Binomial(20, e, rate) * std::exp(LogEValueAgainst(0.1, 20, e, 0.3));
    EXPECT_LE(mean, 1 + 1e-9) << rate;
  }
}

TEST(EValue, OneArmAloneProvesNothing) {
  EXPECT_EQ(LogEValue({10, 10, 0, 0}, 0.5, 0.1), 0);
  EXPECT_EQ(LogEValue({0, 0, 10, 0}, 0.5, 0.1), 0);
}

TEST(EValue, TheMeanOfLogarithmsDoesNotOverflow) {
  EXPECT_NEAR(LogMean({1000, 1000}), 1000, 1e-9);
  EXPECT_NEAR(LogMean({1000, 0}), 1000 - std::log(2), 1e-9);
  EXPECT_EQ(LogMean({}), 0);
}

TEST(Histogram, BucketsFollowTheWireContract) {
  EXPECT_EQ(BucketOf(Duration(1)), 0);
  EXPECT_EQ(BucketOf(Duration(2)), 8);
  EXPECT_EQ(BucketOf(Duration(1024)), 80);
  EXPECT_EQ(BucketOf(Duration(1025)), 81);
  EXPECT_EQ(CountAbove({1, 2, 3}, 0), 5);
  EXPECT_EQ(CountAbove({1, 2, 3}, 7), 0);
  EXPECT_EQ(QuantileBucket({0, 5, 4, 1}, 0.5), 1);
  EXPECT_EQ(QuantileBucket({0, 5, 4, 1}, 0.99), 3);
}

TEST(Histogram, TimesAboveTheLastBucketCountInIt) {
  Buckets total;
  Buckets wide(kBucketsMax + 5, 1);
  AddTo(wide, total);
  EXPECT_EQ(total.size(), static_cast<size_t>(kBucketsMax));
  EXPECT_EQ(total.back(), 6);
}

TEST(Analysis, WindowsOfOneArmWaitForTheOther) {
  Analysis analysis = Begin({}, {});
  WindowEvidence only_stable;
  only_stable.stable.requests = 100;
  analysis = Update(std::move(analysis), "a", only_stable);
  EXPECT_EQ(analysis.stable.requests, 0);
  WindowEvidence only_candidate;
  only_candidate.candidate.requests = 1;
  analysis = Update(std::move(analysis), "a", only_candidate);
  EXPECT_EQ(analysis.stable.requests, 100);
  EXPECT_TRUE(analysis.open.empty());
}

TEST(Analysis, WindowOfOneArmIsNotKeptForever) {
  Analysis analysis = Begin({}, {});
  WindowEvidence only_stable;
  only_stable.stable.requests = 1000;
  only_stable.stable.errors = 10;
  for (int i = 0; i < 15; ++i) analysis = Update(std::move(analysis), "a", only_stable);
  EXPECT_EQ(analysis.stable.requests, 10000);
  EXPECT_EQ(analysis.open.at("a").stable.requests, 5000);
  EXPECT_EQ(EValue(analysis.errors), 1) << "one arm alone proves nothing";
}

api::ArmEvidence ArmThatTakes(int64_t requests, int bucket) {
  api::ArmEvidence evidence;
  evidence.requests = requests;
  evidence.run_time_buckets.resize(kBucketsMax);
  evidence.run_time_buckets[static_cast<size_t>(bucket)] = requests;
  return evidence;
}

std::string ResultOf(Duration stable, Duration candidate) {
  Analysis analysis = Begin({}, {});
  for (int i = 0; i < 100; ++i) {
    analysis =
        Update(std::move(analysis), "a", {ArmThatTakes(10, BucketOf(candidate)), ArmThatTakes(10, BucketOf(stable))});
  }
  return Judge(analysis, {}, 1000).result;
}

TEST(Analysis, MicrosecondsFromColdCachesAreNotARegression) {
  EXPECT_EQ(ResultOf(Duration(35), Duration(60)), "Pass");
  EXPECT_EQ(ResultOf(Duration(35), Duration(400)), "Fail");
  EXPECT_EQ(ResultOf(Duration(3500), Duration(6000)), "Fail");
}

// The candidate runs only on a node that is half as fast as the other, and is equal to stable there.
TEST(Analysis, CandidateOnASlowNodeIsComparedWithStableOnThatNode) {
  const auto& arm = ArmThatTakes;
  const auto verdict_of = [&](bool per_node) {
    Analysis analysis = Begin({}, {});
    for (int i = 0; i < 100; ++i) {
      WindowEvidence fast{{}, arm(20, 80)};
      WindowEvidence slow{arm(10, 88), arm(2, 88)};
      if (per_node) analysis = Update(std::move(analysis), "fast", fast);
      analysis = Update(std::move(analysis), "slow", per_node ? slow : Sum({{"fast", fast}, {"slow", slow}}));
    }
    EXPECT_EQ(CandidateRequests(analysis), 1000);
    return Judge(analysis, {}, 1000);
  };
  EXPECT_EQ(verdict_of(true).result, "Pass");
  EXPECT_EQ(verdict_of(false).reason, "Latency") << "the result if all nodes were summed";
}

TEST(Analysis, ForeignJsonIsAnErrorAndNullIsAnEmptyAnalysis) {
  EXPECT_FALSE(FromJson(Json{{"a", 1}}));
  EXPECT_TRUE(FromJson(nullptr));
}

}  // namespace
}  // namespace longshore::analysis
