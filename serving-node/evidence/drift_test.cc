#include "serving-node/evidence/drift.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <future>
#include <limits>

namespace longshore::evidence {
namespace {

using engine::TensorMap;
using tensor::Tensor;

TensorMap Scores(const std::vector<float>& values) {
  return {{"scores", Tensor::Of<float>({1, static_cast<int64_t>(values.size())}, values)}};
}

TEST(HasNonFinite, FindsNanAndInfinityAnywhere) {
  std::vector<float> values(1000, std::numeric_limits<float>::max());
  EXPECT_FALSE(HasNonFinite(Scores(values)));
  for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    values[999] = bad;
    EXPECT_TRUE(HasNonFinite(Scores(values))) << bad;
  }
  EXPECT_TRUE(HasNonFinite({{"x", Tensor::Of<double>({1}, {-INFINITY})}}));
  EXPECT_FALSE(HasNonFinite({{"x", Tensor::Of<int32_t>({1}, {0x7F800000})}}));
}

TEST(Compare, MeasuresTheLargestDifferenceAgainstStablesScale) {
  const PairDifference difference = Compare(Scores({1, 5}), Scores({2, 4}));
  EXPECT_DOUBLE_EQ(difference.relative, 0.25);
  EXPECT_FALSE(difference.top1_changed);
  EXPECT_TRUE(Compare(Scores({5, 1}), Scores({1, 5})).top1_changed);
}

TEST(Compare, ReturnsALargeFiniteDifferenceForIncomparableOutputs) {
  EXPECT_TRUE(Compare(Scores({1, 2}), Scores({1, 2, 3})).relative >= 1e6);
  EXPECT_TRUE(Compare(Scores({1}), TensorMap{}).relative >= 1e6);
  EXPECT_TRUE(Compare(Scores({std::nanf(""), 1}), Scores({1, 1})).relative >= 1e6);
}

TEST(Sampled, SelectsExactlyTheShare) {
  for (const double share : {0.0, 0.05, 0.25, 1.0}) {
    int taken = 0;
    for (uint64_t i = 0; i < 1000; ++i) taken += Sampled(i, share) ? 1 : 0;
    EXPECT_NEAR(taken, share * 1000, 1) << share;
  }
}

TEST(DriftSampler, ComparesWithStableAndDropsReplaysWhenTheQueueIsFull) {
  DriftSampler sampler(1);
  auto counters = std::make_shared<Counters>();
  std::promise<void> started;
  std::promise<void> go_on;
  sampler.Offer({Scores({1, 2}),
                 [&]() -> Result<TensorMap> {
                   started.set_value();
                   go_on.get_future().wait();
                   return Scores({1, 4});
                 },
                 counters});
  started.get_future().wait();
  std::atomic<int> runs{0};
  const auto count = [&runs]() -> Result<TensorMap> {
    ++runs;
    return Scores({1, 2});
  };
  sampler.Offer({Scores({1, 2}), count, counters});
  sampler.Offer({Scores({1, 2}), count, counters});
  go_on.set_value();
  sampler.Drain();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(counters->Snapshot().drift().pairs(), 2);
  EXPECT_DOUBLE_EQ(counters->Snapshot().drift().difference_max(), 0.5);
}

TEST(DriftSampler, CountsNoPairIfStableFails) {
  DriftSampler sampler;
  auto counters = std::make_shared<Counters>();
  sampler.Offer({Scores({1}), []() -> Result<TensorMap> { return Unavailable("gone"); }, counters});
  sampler.Drain();
  EXPECT_EQ(counters->Snapshot().drift().pairs(), 0);
}

}  // namespace
}  // namespace longshore::evidence
