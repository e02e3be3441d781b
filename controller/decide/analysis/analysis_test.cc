#include "controller/decide/analysis/analysis.h"

#include <gtest/gtest.h>

#include "controller/decide/analysis/histogram.h"

namespace longshore::analysis {
namespace {

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
