#include "serving-node/evidence/drift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/seeds/seeds.h"

namespace longshore::evidence {
namespace {

using engine::TensorMap;
using tensor::Tensor;

Tensor Values(tensor::Shape shape, const std::vector<float>& values) {
  return Tensor::Of<float>(std::move(shape), values);
}

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

TEST(Compare, NamesTheOutputThatDiffersMostWithBothTypesAndShapes) {
  const TensorMap stable{{"a", Values({2}, {1, 2})}, {"b", Values({1, 2}, {4, 6})}, {"c", Values({1}, {1})}};
  EXPECT_FALSE(Compare(stable, stable).largest);
  const TensorMap candidate{{"a", Values({2}, {1, 2.5})}, {"b", Values({1, 2}, {4, 2})}, {"c", Values({1}, {1})}};
  const auto largest = Compare(candidate, stable).largest;
  ASSERT_TRUE(largest);
  EXPECT_EQ(largest->output, "b");
  EXPECT_EQ(largest->candidate_type, "DT_FLOAT [1,2]");
  EXPECT_EQ(largest->stable_type, "DT_FLOAT [1,2]");
  EXPECT_DOUBLE_EQ(largest->relative, 0.4);
  EXPECT_EQ(largest->absolute, 4);
}

TEST(Compare, IsOneForOutputsThatAreNotComparable) {
  const TensorMap stable{{"a", Values({2}, {1, 2})}};
  const auto of = [&](const TensorMap& candidate) { return Compare(candidate, stable).largest.value(); };
  const auto missing = of({{"b", Values({2}, {1, 2})}});
  EXPECT_EQ(missing.output, "a");
  EXPECT_EQ(missing.candidate_type, "");
  EXPECT_EQ(missing.stable_type, "DT_FLOAT [2]");
  EXPECT_EQ(missing.relative, 1);
  EXPECT_FALSE(missing.absolute);
  EXPECT_EQ(of({{"a", Values({1}, {1})}}).candidate_type, "DT_FLOAT [1]");
  EXPECT_EQ(of({{"a", Tensor::Of<int64_t>({2}, {1, 2})}}).relative, 1);
  EXPECT_EQ(of({{"a", Values({2}, {1, std::nanf("")})}}).relative, 1);
  EXPECT_FALSE(of({{"a", Values({2}, {1, std::nanf("")})}}).absolute);
}

TEST(Compare, IsForStringsTheShareOfTheValuesThatDiffer) {
  const TensorMap stable{{"a", Tensor::Of<std::string>({4}, {"a", "b", "c", "d"})}};
  const auto largest = Compare({{"a", Tensor::Of<std::string>({4}, {"a", "b", "c", "e"})}}, stable).largest;
  ASSERT_TRUE(largest);
  EXPECT_DOUBLE_EQ(largest->relative, 0.25);
  EXPECT_FALSE(largest->absolute);
}

TEST(Compare, MeasuresOnlyFloatsAndWhatCannotBeCompared) {
  const TensorMap strings{{"a", Tensor::Of<std::string>({1}, {"a"})}, {"b", Tensor::Of<int64_t>({1}, {1})}};
  const TensorMap others{{"a", Tensor::Of<std::string>({1}, {"z"})}, {"b", Tensor::Of<int64_t>({1}, {2})}};
  EXPECT_FALSE(Compare(others, strings).is_measured);
  EXPECT_TRUE(Compare(Scores({1, 2}), Scores({1, 2})).is_measured);
  EXPECT_TRUE(Compare({}, strings).is_measured);
}

TEST(Compare, EqualZerosAndEmptyOutputsDoNotDiffer) {
  const TensorMap outputs{{"a", Values({2}, {0, 0})}, {"b", Values({0}, {})}, {"c", Values({1}, {std::nanf("")})}};
  EXPECT_FALSE(Compare(outputs, outputs).largest);
}

// Both versions may mask the same logits with -Inf.
TEST(Compare, LeavesOutWhatIsNotFiniteInTheSameWayInBoth) {
  for (const float masked : {-INFINITY, INFINITY, std::nanf("")}) {
    const PairDifference difference = Compare(Scores({1, masked, 3}), Scores({2, masked, 4}));
    EXPECT_DOUBLE_EQ(difference.relative, 0.25) << masked;
    ASSERT_TRUE(difference.largest);
    EXPECT_DOUBLE_EQ(difference.largest->relative, 1.0 / 7) << masked;
    EXPECT_EQ(difference.largest->absolute, 1) << masked;
  }
  const PairDifference opposite = Compare(Scores({1, INFINITY}), Scores({1, -INFINITY}));
  EXPECT_EQ(opposite.relative, 1e6);
  EXPECT_EQ(opposite.largest->relative, 1);
}

TEST(Compare, IsRelativeAlsoIfTheSumOfTheMagnitudesIsTooLargeForADouble) {
  const auto largest =
      Compare({{"a", Tensor::Of<double>({1}, {1.6e308})}}, {{"a", Tensor::Of<double>({1}, {1.2e308})}}).largest;
  ASSERT_TRUE(largest);
  EXPECT_DOUBLE_EQ(largest->relative, 1.0 / 7);
}

bool AreSame(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The measures computed one by one, as the judge of the pass that computes them together.
double DriftAlone(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0, scale = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(b[i]) && AreSame(a[i], b[i])) continue;
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!std::isfinite(difference)) return 1e6;
    largest = std::max(largest, difference);
    scale = std::max(scale, std::abs(static_cast<double>(b[i])));
  }
  return std::min(largest / scale, 1e6);
}

double LargestAlone(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0, scale_a = 0, scale_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (AreSame(a[i], b[i])) continue;
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!std::isfinite(difference)) return 1;
    largest = std::max(largest, difference);
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i])) scale_a = std::max(scale_a, std::abs(static_cast<double>(a[i])));
    if (std::isfinite(b[i])) scale_b = std::max(scale_b, std::abs(static_cast<double>(b[i])));
  }
  return largest == 0 ? 0 : largest / (scale_a + scale_b);
}

TEST(Compare, FindsInOnePassWhatSeparatePassesFind) {
  const uint64_t seed = seeds::First();
  std::mt19937_64 random(seed);
  const std::vector<float> values{0, -0.0F, 1, -2, 1e-40F, 3e38F, -3e38F, INFINITY, -INFINITY, std::nanf("")};
  for (int round = 0; round < 5000; ++round) {
    const size_t used = round % 2 == 0 ? values.size() : values.size() - 3;
    std::vector<float> a(random() % 20), b;
    for (float& value : a) {
      value = values[random() % used];
      b.push_back(random() % 2 == 0 ? value : values[random() % used]);
    }
    const PairDifference found = Compare(Scores(a), Scores(b));
    ASSERT_EQ(found.relative, DriftAlone(a, b)) << seed;
    ASSERT_EQ(found.largest ? found.largest->relative : 0, LargestAlone(a, b)) << seed;
  }
}

}  // namespace
}  // namespace longshore::evidence
