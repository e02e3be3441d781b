#include "controller/decide/analysis/analysis.h"

#include <gtest/gtest.h>

#include "common/statistics/rates.h"
#include "controller/decide/analysis/histogram.h"

namespace longshore::analysis {
namespace {

using statistics::kBetterOdds;
using statistics::kWorseOdds;

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
  EXPECT_EQ(statistics::LogE(analysis.errors, kWorseOdds), 0) << "one arm alone proves nothing";
}

api::ArmEvidence ArmThatTakes(int64_t requests, int bucket) {
  api::ArmEvidence evidence;
  evidence.requests = requests;
  evidence.run_times[0].resize(kBucketsMax);
  evidence.run_times[0][static_cast<size_t>(bucket)] = requests;
  return evidence;
}

std::string ResultOf(Duration stable, Duration candidate) {
  Analysis analysis = Begin({}, {});
  for (int i = 0; i < 100; ++i) {
    analysis =
        Update(std::move(analysis), "a", {ArmThatTakes(10, BucketOf(candidate)), ArmThatTakes(10, BucketOf(stable))});
  }
  return Judge(analysis, {}, {.requests = 1000}).result;
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
    EXPECT_EQ(CandidateRequests(analysis, {}), 1000);
    return Judge(analysis, {}, {.requests = 1000});
  };
  EXPECT_EQ(verdict_of(true).result, "Pass");
  EXPECT_EQ(verdict_of(false).reason, "Latency") << "the result if all nodes were summed";
}

// An analysis as release 0.1.0 has stored it.
Json OfReleaseOne() {
  const Json arm{{"requests", 10},
                 {"errors", 1},
                 {"nonFinite", 0},
                 {"runTimes", {{"first", 80}, {"counts", {4, 6}}}},
                 {"drift", {1, 0.5, 0.5, 0}}};
  const Json logs = std::vector<double>(8, 0.25);
  return {{"toleranceBuckets", 1},
          {"sloQuantile", 0.9},
          {"sloMissed", {"a"}},
          {"baseline", arm},
          {"candidate", arm},
          {"stable", arm},
          {"open", {{"b", {{"candidate", arm}, {"stable", arm}}}}},
          {"errors", logs},
          {"latency", {logs, logs, logs, logs}},
          {"latencyBaseline", {logs, logs, logs, logs}}};
}

TEST(Analysis, OfReleaseOneIsReadWithItsEvidence) {
  const auto analysis = FromJson(OfReleaseOne());
  ASSERT_TRUE(analysis) << analysis.error().message;
  EXPECT_EQ(analysis->candidate.requests, 10);
  EXPECT_EQ(analysis->candidate.run_times.at(0).size(), 82u);
  EXPECT_EQ(analysis->tolerances.latency_buckets, 1);
  EXPECT_NEAR(statistics::LogE(analysis->errors, kWorseOdds), 0.25, 1e-12);
  EXPECT_NEAR(statistics::LogE(analysis->latency_baseline[3], kWorseOdds), 0.25, 1e-12);
  EXPECT_EQ(statistics::LogE(analysis->errors_proof, kErrorFactors), 0);
}

TEST(Analysis, IsStoredSoThatReleaseOneCanReadIt) {
  const Json before = OfReleaseOne();
  const Json stored = ToJson(*FromJson(before));
  for (const auto& [key, _] : before.items()) EXPECT_TRUE(stored.contains(key)) << key;
  for (const char* key : {"sloMissed", "errors", "latency", "latencyBaseline"}) {
    EXPECT_EQ(stored.at(key), before.at(key)) << key;
  }
  EXPECT_EQ(stored.at("candidate").at("runTimes"), before.at("candidate").at("runTimes"));
}

Analysis WithEvidence(const api::Rollout& rollout) {
  api::ModelSpec spec;
  spec.rollout = rollout;
  Analysis analysis = Begin(spec, ArmThatTakes(1000, 80));
  for (int i = 0; i < 20; ++i) {
    analysis = Update(std::move(analysis), "a", {ArmThatTakes(100, 80), ArmThatTakes(100, 80)});
  }
  return analysis;
}

TEST(Tolerances, StricterOnesForgetTheProofAndKeepTheTests) {
  api::Rollout rollout;
  Analysis analysis = WithEvidence(rollout);
  const EProcess latency = analysis.latency[0];
  EXPECT_GT(statistics::LogE(analysis.errors_proof, kErrorFactors), 1);
  EXPECT_FALSE(ApplyTolerances(rollout, analysis)) << "nothing changed";
  rollout.error_rate.tolerance = 0.001;
  rollout.latency.tolerance = 0.02;
  EXPECT_TRUE(ApplyTolerances(rollout, analysis));
  EXPECT_LE(statistics::LogE(analysis.errors_proof, kErrorFactors), 0);
  EXPECT_LE(statistics::LogE(analysis.latency_proof[0], kBetterOdds), 0);
  EXPECT_EQ(analysis.latency[0], latency);
}

TEST(Tolerances, WiderOnesKeepTheProofAndForgetWhatSpokeAgainstTheCandidate) {
  api::Rollout rollout;
  Analysis analysis = WithEvidence(rollout);
  const EProcess proof = analysis.errors_proof;
  Multiply(analysis.latency[0], kWorseOdds, 0, 3);
  rollout.error_rate.tolerance = 0.1;
  rollout.latency.tolerance = 0.5;
  EXPECT_TRUE(ApplyTolerances(rollout, analysis));
  EXPECT_EQ(analysis.errors_proof, proof);
  EXPECT_LE(analysis.latency[0].log_e[0], 0);
}

TEST(Analysis, ForgetsThatADepartedNodeMissedTheObjective) {
  Analysis analysis;
  analysis.slo_missed = {"a", "b"};
  ForgetDeparted({"b", "c"}, analysis);
  EXPECT_EQ(analysis.slo_missed, std::set<std::string>{"b"});
}

TEST(PairsToProve, FallWithALargerToleranceAndRiseWithTheErrorRate) {
  EXPECT_LT(*PairsToProve(0.01, {0.02, 0.5}), *PairsToProve(0.01, {0.005, 0.5}));
  EXPECT_LT(*PairsToProve(0.0001, {}), *PairsToProve(0.01, {}));
  EXPECT_FALSE(PairsToProve(0.01, {0, 0}));
}

TEST(PairsToProve, IsWhatAProofTakes) {
  const double needed = *PairsToProve(0.0001, {});
  EProcess process;
  ProvePairErrors({.pairs = std::llround(1.2 * needed)}, {}, process);
  EXPECT_GT(LogE(process, kBets), std::log(1 / kAlphaProof));
  process = {};
  ProvePairErrors({.pairs = std::llround(0.6 * needed)}, {}, process);
  EXPECT_LT(LogE(process, kBets), std::log(1 / kAlphaProof));
}

TEST(RequestsToProve, FallWithALargerToleranceAndRiseWithTheErrorRate) {
  EXPECT_LT(*RequestsToProve(0.01, 0.5, {0.02, 0.5}), *RequestsToProve(0.01, 0.5, {0.005, 0.5}));
  EXPECT_LT(*RequestsToProve(0.0001, 0.5, {}), *RequestsToProve(0.01, 0.5, {}));
  EXPECT_LT(*RequestsToProve(0.01, 0.5, {}), *RequestsToProve(0.01, 0.05, {}));
  EXPECT_FALSE(RequestsToProve(0.01, 0.5, {0, 0}));
}

TEST(Alphas, AddUpToTheWholeWithTheGuards) {
  api::ModelSpec spec;
  const auto sum = [&] {
    const Alphas alphas = AlphasOf(spec);
    return alphas.errors + alphas.latency + kAlphaGuards;
  };
  EXPECT_DOUBLE_EQ(sum(), kAlphaTotal);
  spec.rollout.error_rate.enabled = false;
  EXPECT_DOUBLE_EQ(sum(), kAlphaTotal);
  spec.rollout.latency.enabled = false;
  EXPECT_EQ(sum(), kAlphaGuards);
}

TEST(Alphas, OfTheGuardsBelongToTheBinsIfUsersAreAssigned) {
  api::ModelSpec spec;
  EXPECT_EQ(AlphasOf(spec).bins, 0);
  spec.rollout.assignment_by = api::AssignmentBy::kHeader;
  EXPECT_EQ(AlphasOf(spec).bins, kAlphaGuards);
  EXPECT_DOUBLE_EQ(AlphasOf(spec).errors + AlphasOf(spec).latency + AlphasOf(spec).bins, kAlphaTotal);
  spec.rollout.error_rate.enabled = false;
  EXPECT_EQ(AlphasOf(spec).bins, 0);
}

TEST(Analysis, ForeignJsonIsAnErrorAndNullIsAnEmptyAnalysis) {
  EXPECT_FALSE(FromJson(Json{{"a", 1}}));
  EXPECT_TRUE(FromJson(nullptr));
}

}  // namespace
}  // namespace longshore::analysis
