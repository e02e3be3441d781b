#include "serving-node/evidence/drift.h"

#include <gtest/gtest.h>

#include <cmath>
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

}  // namespace
}  // namespace longshore::evidence
