#include "controller/decide/analysis/difference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/statistics/rates.h"
#include "controller/decide/analysis/pairs.h"
#include "controller/decide/analysis/seen.h"
#include "controller/decide/analysis/texts.h"

namespace longshore::analysis {
namespace {

TEST(RateDifference, IsUnknownWithoutDataAndIgnoresBlocksOfOneVersion) {
  RateDifference difference;
  difference.Add({100, 5, 0, 0}, 0.05);
  EXPECT_EQ(difference.At(0.95).low, -1);
  EXPECT_EQ(difference.At(0.95).high, 1);
  EXPECT_EQ(difference.Detectable(0.01), 1);
}

TEST(RateDifference, ComparesVersionsWithinBlocks) {
  RateDifference difference;
  // Both versions fail alike in each hour, but the candidate has most of its requests in the bad one.
  difference.Add({10, 1, 90, 9}, 0.1);
  difference.Add({90, 45, 10, 5}, 0.5);
  EXPECT_NEAR(difference.estimate(), 0, 1e-12);
}

TEST(RateDifference, IntervalContainsTheEstimateAndShrinks) {
  RateDifference few, many;
  few.Add({1000, 20, 1000, 10}, 0.015);
  for (int i = 0; i < 100; ++i) many.Add({1000, 20, 1000, 10}, 0.015);
  for (const RateDifference& difference : {few, many}) {
    EXPECT_NEAR(difference.estimate(), 0.01, 1e-12);
    EXPECT_LT(difference.At(0.95).low, 0.01);
    EXPECT_GT(difference.At(0.95).high, 0.01);
  }
  EXPECT_LT(few.At(0.95).low, 0);
  EXPECT_GT(many.At(0.95).low, 0.008);
  EXPECT_LT(many.Detectable(0.004), few.Detectable(0.004) / 5);
}

Buckets Around(size_t middle) {
  Buckets buckets(middle + 2);
  buckets[middle - 1] = buckets[middle + 1] = 250;
  buckets[middle] = 500;
  return buckets;
}

TEST(MedianRatio, OfEqualRunTimesContainsOneAndOfSlowerOnesDoesNot) {
  const Interval equal = MedianRatio(Around(80), Around(80), 0.95);
  EXPECT_LT(equal.low, 1);
  EXPECT_GT(equal.high, 1);
  EXPECT_LT(equal.high / equal.low, 1.1);
  const Interval twice = MedianRatio(Around(88), Around(80), 0.95);
  EXPECT_GT(twice.low, 1.9);
  EXPECT_LT(twice.high, 2.1);
}

TEST(MedianRatio, OfFewRunTimesIsUnknown) {
  EXPECT_TRUE(std::isinf(MedianRatio({5}, {5}, 0.95).high));
  EXPECT_TRUE(std::isinf(MedianOfRatios({}, 0.95).high));
}

TEST(MedianOfRatios, IsTheRatioOfMostPairs) {
  Buckets ratios(static_cast<size_t>(kRatioBucketOfOne) + kRatioBucketsPerDoubling + 1);
  ratios.back() = 1000;
  const Interval twice = MedianOfRatios(ratios, 0.95);
  EXPECT_GT(twice.low, 1.9);
  EXPECT_LT(twice.high, 2.01);
}

TEST(SumBound, IsNotExceededAtAnyTimeByMoreThanItsShareOfRandomWalks) {
  int exceeded = 0;
  uint64_t state = 7;
  constexpr int kWalks = 2000;
  for (int walk = 0; walk < kWalks; ++walk) {
    double sum = 0;
    bool out = false;
    for (int step = 1; step <= 2000 && !out; ++step) {
      state = state * 6364136223846793005 + 1442695040888963407;
      sum += (state >> 63) != 0 ? 1 : -1;
      out = std::abs(sum) > SumBound(step, 0.05);
    }
    exceeded += out ? 1 : 0;
  }
  EXPECT_LE(exceeded, kWalks * 0.05);
  EXPECT_GT(exceeded, 0) << "a bound that nothing exceeds is too wide";
}

TEST(EvidenceNeeded, GrowsWithTheLogarithmOfTheEValueAndIsUnknownWhileItHasHardlyGrown) {
  EXPECT_NEAR(*EvidenceNeeded(10, 1000), 3, 1e-9);
  EXPECT_LE(*EvidenceNeeded(1000, 1000), 1);
  EXPECT_EQ(EvidenceNeeded(1.2, 1000), std::nullopt);
}

TEST(DifferenceText, DoesNotShowAnIntervalThatContainsEveryDifference) {
  const Analysis analysis;
  const StepFacts step{};
  api::ModelSpec spec;
  Seen seen = SeenIn(analysis, spec, step);
  seen.error_difference = {-1, 1};
  seen.run_time_ratio = {0, 0};
  EXPECT_EQ(DifferenceText(seen, spec), "there are too few requests yet to say how far it differs from stable");
  seen.error_difference = {-0.5, 1};
  EXPECT_EQ(DifferenceText(seen, spec).find("its error rate is 50 percentage points lower to 100"), 0u);
  spec.rollout.error_rate.enabled = spec.rollout.latency.enabled = false;
  EXPECT_EQ(DifferenceText(seen, spec), "no test is enabled");
}

// 48 runs of both versions, spread over 16 buckets from `lowest`.
Analysis WithFewRuns(size_t lowest) {
  Analysis analysis;
  analysis.tolerances.latency_buckets = 1;
  Buckets runs(lowest + 16);
  for (size_t i = 0; i < 48; ++i) ++runs[lowest + i % 16];
  analysis.candidate.run_times[1] = analysis.stable.run_times[1] = runs;
  return analysis;
}

double HighOf(const Analysis& analysis, bool without_weight = false) {
  StepFacts step;
  step.without_weight = without_weight;
  return SeenIn(analysis, api::ModelSpec(), step).run_time_ratio.high;
}

TEST(Seen, AProofOfTheRunTimesBoundsTheirInterval) {
  constexpr size_t k13Ms = 110, k8Us = 24;
  Analysis slow = WithFewRuns(k13Ms), fast = WithFewRuns(k8Us);
  const double unproven = HighOf(slow);
  EXPECT_GT(unproven, 1.3);
  EXPECT_NEAR(HighOf(fast), unproven, 1e-9);
  for (Analysis* analysis : {&slow, &fast}) {
    for (EProcess& process : analysis->latency_proof) process.log_e.assign(statistics::kBetterOdds.size(), 10);
  }
  EXPECT_NEAR(HighOf(slow), std::exp2(1 / 8.0), 1e-9);
  EXPECT_NEAR(HighOf(fast), unproven, 1e-9) << "it allows 100 microseconds more";
  EXPECT_NEAR(HighOf(fast, true), unproven, 1e-9) << "without weight, pairs are the proof";
  fast.pair_latency_proof.log_e.assign(kBetterCoins.size(), 10);
  EXPECT_NEAR(HighOf(fast, true), std::exp2(1 / 8.0), 1e-9) << "pairs are compared without the 100 microseconds";
}

TEST(RunTimeLimitText, NamesThe100MicrosecondsThatRequestsAlwaysMayTake) {
  api::Rollout rollout;
  rollout.latency.tolerance = 0.125;
  EXPECT_EQ(RunTimeLimitText(rollout, false), "12.5 % or 0.1 ms longer");
  EXPECT_EQ(RunTimeLimitText(rollout, true), "12.5 % longer");
}

TEST(TwoDigits, HaveNoExponent) {
  EXPECT_EQ(TwoDigits(0.0213), "0.021");
  EXPECT_EQ(TwoDigits(213.4), "213");
  EXPECT_EQ(TwoDigits(0), "0");
  EXPECT_EQ(TwoDigits(9.96), "10");
  EXPECT_EQ(TwoDigits(0.996), "1.0");
  EXPECT_EQ(TwoDigits(1e-9), "0.000000");
  EXPECT_EQ(RatioText(0.979), "2.1 % shorter");
}

TEST(EValueText, ChoosesTheUnitOfTheRoundedNumber) {
  const auto text = [](double e) {
    const std::string all = EValueText(e, 222);
    EXPECT_EQ(all.find("e-value "), 0u);
    return all.substr(8, all.find(", limit 222") - 8);
  };
  EXPECT_EQ(text(3.2), "3.2");
  EXPECT_EQ(text(999.4), "999");
  EXPECT_EQ(text(999.7), "about 1.0 thousand");
  EXPECT_EQ(text(999'400), "about 999 thousand");
  EXPECT_EQ(text(999'700), "about 1.0 million");
  EXPECT_EQ(text(9.97e6), "about 10 million");
  EXPECT_EQ(text(999.6e6), "about 1.0 billion");
  EXPECT_EQ(text(999.6e9), "about 1.0 trillion");
  EXPECT_EQ(text(1e12), "about 1.0 trillion");
  EXPECT_EQ(text(1.1e12), "above a trillion");
}

// Ratios of pairs are counted up to 16: an interval of 15.4 to 15.9 also stands for a ratio of 800.
TEST(RatioIntervalText, TellsNoNumberBeyondWhatIsCounted) {
  EXPECT_EQ(RatioIntervalText(0.979, 1.14), "2.1 % shorter to 14 % longer");
  EXPECT_EQ(RatioIntervalText(15.39, 15.93), "more than 15 times as long");
  EXPECT_EQ(RatioIntervalText(2, 15.93), "100 % longer to more than 15 times as long");
  EXPECT_EQ(RatioIntervalText(0.06, 0.0625), "less than 1/15 as long");
  EXPECT_EQ(RatioIntervalText(0.0625, 0.5), "less than 1/15 as long to 50 % shorter");
}

}  // namespace
}  // namespace longshore::analysis
