#include "serving-node/evidence/agreement.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "common/node_contract/output_rules.h"
#include "serving-node/evidence/elements.h"
#include "serving-node/tensor/half.h"
#include "tests/seeds/seeds.h"

namespace longshore::evidence {
namespace {

using control::OutputRule;
using engine::TensorMap;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

OutputRule Rule(OutputRule::Measure measure, const std::string& output = "scores") {
  OutputRule rule;
  rule.set_output(output);
  rule.set_measure(measure);
  return rule;
}

OutputRule TopK(int k, double similarity) {
  OutputRule rule = Rule(OutputRule::TOPK);
  rule.set_k(k);
  rule.set_similarity(similarity);
  return rule;
}

OutputRule Cosine(double similarity) {
  OutputRule rule = Rule(OutputRule::COSINE);
  rule.set_similarity(similarity);
  return rule;
}

OutputRule Within(double absolute, double relative = 0) {
  OutputRule rule = Rule(OutputRule::WITHIN);
  rule.set_absolute(absolute);
  rule.set_relative(relative);
  return rule;
}

OutputRule Equal(bool collapse_whitespace = false) {
  OutputRule rule = Rule(OutputRule::EQUAL);
  rule.set_collapse_whitespace(collapse_whitespace);
  return rule;
}

Tensor Floats(Shape shape, const std::vector<float>& values) { return Tensor::Of<float>(std::move(shape), values); }

// One row of columns.
Tensor Columns(const std::vector<float>& values) { return Floats({1, static_cast<int64_t>(values.size())}, values); }

bool Agrees(const OutputRule& rule, const std::vector<float>& candidate, const std::vector<float>& stable) {
  return RowAgrees(rule, Columns(candidate), Columns(stable), 0);
}

// The numbers as a tensor of any type for real numbers.
Tensor Numbers(DType type, Shape shape, const std::vector<int>& values) {
  auto made = Tensor::Make(type, std::move(shape));
  CHECK(made && made->elements() == static_cast<int64_t>(values.size()));
  const auto fill = [&](auto convert) {
    using T = decltype(convert(0));
    for (size_t i = 0; i < values.size(); ++i) reinterpret_cast<T*>(made->mutable_data())[i] = convert(values[i]);
  };
  switch (type) {
    case DType::kFloat: fill([](int x) { return static_cast<float>(x); }); break;
    case DType::kDouble: fill([](int x) { return static_cast<double>(x); }); break;
    case DType::kHalf: fill([](int x) { return tensor::FloatToHalf(static_cast<float>(x)); }); break;
    case DType::kBfloat16: fill([](int x) { return tensor::FloatToBfloat16(static_cast<float>(x)); }); break;
    default:
      switch (tensor::ElementBytes(type)) {
        case 1: fill([](int x) { return static_cast<int8_t>(x); }); break;
        case 2: fill([](int x) { return static_cast<int16_t>(x); }); break;
        case 4: fill([](int x) { return static_cast<int32_t>(x); }); break;
        default: fill([](int x) { return static_cast<int64_t>(x); }); break;
      }
  }
  return *made;
}

const std::vector<DType> kReal = {DType::kFloat,  DType::kDouble, DType::kHalf,  DType::kBfloat16, DType::kInt8,
                                  DType::kInt16,  DType::kInt32,  DType::kInt64, DType::kUint8,    DType::kUint16,
                                  DType::kUint32, DType::kUint64, DType::kQint8, DType::kQint16,   DType::kQint32,
                                  DType::kQuint8, DType::kQuint16};

TEST(Agreement, EveryRuleComparesEveryTypeOfRealNumbers) {
  for (const DType type : kReal) {
    SCOPED_TRACE(tensor::DTypeName(type));
    const auto agrees = [type](const OutputRule& rule, const std::vector<int>& a, const std::vector<int>& b) {
      const Shape shape = {1, static_cast<int64_t>(a.size())};
      const Tensor stable = Numbers(type, shape, b);
      EXPECT_TRUE(AppliesTo(rule, stable));
      return RowAgrees(rule, Numbers(type, shape, a), stable, 0);
    };
    EXPECT_TRUE(agrees(Rule(OutputRule::TOP1), {1, 5, 2}, {4, 9, 3}));
    EXPECT_FALSE(agrees(Rule(OutputRule::TOP1), {1, 5, 2}, {9, 4, 3}));
    EXPECT_TRUE(agrees(TopK(2, 1), {1, 5, 4}, {2, 8, 9}));
    EXPECT_FALSE(agrees(TopK(2, 1), {5, 1, 4}, {2, 8, 9}));
    EXPECT_TRUE(agrees(Cosine(0.999), {1, 2, 3}, {2, 4, 6}));
    EXPECT_FALSE(agrees(Cosine(0.999), {1, 2, 3}, {6, 4, 2}));
    EXPECT_TRUE(agrees(Within(2), {1, 7}, {3, 5}));
    EXPECT_FALSE(agrees(Within(1), {1, 7}, {3, 5}));
    EXPECT_TRUE(agrees(Equal(), {1, 7}, {1, 7}));
    EXPECT_FALSE(agrees(Equal(), {1, 7}, {1, 6}));
  }
}

TEST(Agreement, RulesApplyOnlyToOutputsThatTheyCanCompare) {
  const Tensor vector = Floats({2}, {1, 2}), strings = Tensor::Of<std::string>({1, 2}, {"a", "b"});
  const auto complex = Tensor::Make(DType::kComplex64, {1, 2});
  for (const OutputRule& rule : {Rule(OutputRule::TOP1), TopK(1, 1)}) {
    EXPECT_TRUE(AppliesTo(rule, Columns({1, 2})));
    EXPECT_FALSE(AppliesTo(rule, vector)) << "its rows have no columns";
    EXPECT_FALSE(AppliesTo(rule, strings));
  }
  for (const OutputRule& rule : {Cosine(0.9), Within(1)}) {
    EXPECT_TRUE(AppliesTo(rule, vector));
    EXPECT_TRUE(AppliesTo(rule, Floats({}, {1})));
    EXPECT_FALSE(AppliesTo(rule, strings));
    EXPECT_FALSE(AppliesTo(rule, *complex));
  }
  for (const Tensor& output : {vector, strings, *complex}) EXPECT_TRUE(AppliesTo(Equal(), output));
  EXPECT_FALSE(AppliesTo(Equal(), Tensor()));
  EXPECT_FALSE(AppliesTo(Equal(), Tensor::Wrap(DType::kResource, {}, nullptr, nullptr)));
}

TEST(Agreement, OnlyTheChosenRowCounts) {
  const Tensor a = Floats({3, 2}, {1, 2, 3, 4, 5, 6}), b = Floats({3, 2}, {1, 2, 4, 3, 5, 6});
  for (const OutputRule& rule : {Rule(OutputRule::TOP1), TopK(1, 1), Cosine(0.9999), Within(0.5), Equal()}) {
    EXPECT_EQ(RowsOf(a), 3);
    std::vector<bool> agree;
    for (int64_t row = 0; row < 3; ++row) agree.push_back(RowAgrees(rule, a, b, row));
    EXPECT_THAT(agree, ElementsAre(true, false, true)) << node_contract::TextOf(rule);
  }
}

TEST(Agreement, ARowHasAllDimensionsAfterTheFirst) {
  // Two rows, each with two positions of two columns.
  const Tensor a = Floats({2, 2, 2}, {1, 2, 3, 4, 1, 2, 3, 4});
  const Tensor b = Floats({2, 2, 2}, {1, 2, 3, 4, 1, 2, 4, 3});
  for (const OutputRule& rule : {Rule(OutputRule::TOP1), TopK(1, 1), Cosine(0.999), Within(0.5), Equal()}) {
    EXPECT_TRUE(RowAgrees(rule, a, b, 0)) << node_contract::TextOf(rule);
    EXPECT_FALSE(RowAgrees(rule, a, b, 1)) << node_contract::TextOf(rule) << ": the second position differs";
  }
  EXPECT_EQ(RowsOf(Floats({}, {1})), 1);
  EXPECT_TRUE(RowAgrees(Within(0.5), Floats({}, {1}), Floats({}, {1.25}), 0)) << "a scalar is one row";
  EXPECT_FALSE(RowAgrees(Within(0.5), Floats({}, {1}), Floats({}, {2}), 0));
  EXPECT_TRUE(RowAgrees(Equal(), Floats({2}, {1, 2}), Floats({2}, {1, 3}), 0));
  EXPECT_FALSE(RowAgrees(Equal(), Floats({2}, {1, 2}), Floats({2}, {1, 3}), 1)) << "in a vector, each value is a row";
}

TEST(Agreement, OutputsOfOtherTypesOrShapesDifferAndEmptyOnesAgree) {
  const Tensor stable = Columns({1, 2});
  for (const OutputRule& rule : {Rule(OutputRule::TOP1), TopK(1, 1), Cosine(0), Within(9), Equal()}) {
    EXPECT_TRUE(RowAgrees(rule, stable, stable, 0));
    EXPECT_FALSE(RowAgrees(rule, Columns({1, 2, 3}), stable, 0));
    EXPECT_FALSE(RowAgrees(rule, Floats({2, 1}, {1, 2}), stable, 0));
    EXPECT_FALSE(RowAgrees(rule, Floats({1, 2, 1}, {1, 2}), stable, 0));
    EXPECT_FALSE(RowAgrees(rule, Tensor::Of<double>({1, 2}, {1, 2}), stable, 0));
    EXPECT_TRUE(RowAgrees(rule, Floats({0, 2}, {}), Floats({0, 2}, {}), 0));
    EXPECT_TRUE(RowAgrees(rule, Floats({2, 0}, {}), Floats({2, 0}, {}), 1));
    EXPECT_FALSE(RowAgrees(rule, Floats({0, 2}, {}), Floats({0, 3}, {}), 0));
  }
}

TEST(Agreement, EqualLargestValuesAgreeIfAColumnIsTheSame) {
  const OutputRule top1 = Rule(OutputRule::TOP1);
  EXPECT_TRUE(Agrees(top1, {5, 5, 1}, {5, 1, 1}));
  EXPECT_TRUE(Agrees(top1, {5, 5, 1}, {1, 7, 1}));
  EXPECT_FALSE(Agrees(top1, {5, 5, 1}, {1, 1, 7}));
  EXPECT_TRUE(Agrees(top1, {5, 5, 1}, {0, 7, 7}));
  EXPECT_FALSE(Agrees(top1, {5, 1, 1, 5}, {0, 7, 7, 0}));
  EXPECT_TRUE(Agrees(top1, {0, 0}, {0, 0}));
  EXPECT_TRUE(Agrees(top1, {-kInf, -kInf}, {-3, -2}));
  EXPECT_TRUE(Agrees(top1, {kInf, 2}, {3, 2}));
}

TEST(Agreement, TopKNeedsItsShareOfTheColumns) {
  const std::vector<float> stable = {9, 8, 7, 6, 5, 1};
  EXPECT_TRUE(Agrees(TopK(5, 1), {5, 6, 7, 8, 9, 1}, stable)) << "the order does not matter";
  EXPECT_FALSE(Agrees(TopK(5, 1), {5, 6, 7, 8, 1, 9}, stable));
  EXPECT_TRUE(Agrees(TopK(5, 0.8), {5, 6, 7, 8, 1, 9}, stable));
  EXPECT_FALSE(Agrees(TopK(5, 0.81), {5, 6, 7, 8, 1, 9}, stable));
  EXPECT_TRUE(Agrees(TopK(99, 1), {1, 2}, {2, 1})) << "there are two columns";
  EXPECT_FALSE(Agrees(TopK(0, 1), {1, 2}, {2, 1})) << "k is at least 1";
}

// 0.28 * 25 is 7.000000000000001 in floating point.
TEST(Agreement, RoundingDoesNotRaiseAShare) {
  std::vector<float> a(50), b(50);
  for (size_t i = 0; i < 25; ++i) a[i] = 1;
  for (size_t i = 18; i < 43; ++i) b[i] = 1;
  EXPECT_TRUE(Agrees(TopK(25, 0.28), a, b));
  EXPECT_FALSE(Agrees(TopK(25, 0.29), a, b));
}

// Compares with the largest overlap over all ways to resolve the ties.
TEST(Agreement, TopKResolvesTiesInFavourOfAgreement) {
  const uint64_t seed = seeds::First();
  std::mt19937_64 random(seed);
  const auto choices = [](const std::vector<float>& values, int k) {
    std::vector<unsigned> sets;
    for (unsigned set = 0; set < 64; ++set) {
      if (std::popcount(set) != k) continue;
      float lowest_in = kInf, highest_out = -kInf;
      for (size_t i = 0; i < values.size(); ++i) {
        const bool in = (set >> i & 1) != 0;
        (in ? lowest_in : highest_out) = in ? std::min(lowest_in, values[i]) : std::max(highest_out, values[i]);
      }
      if (lowest_in >= highest_out) sets.push_back(set);
    }
    return sets;
  };
  for (int i = 0; i < 2000; ++i) {
    std::vector<float> a(6), b(6);
    for (float& value : a) value = static_cast<float>(random() % 3);
    for (float& value : b) value = static_cast<float>(random() % 3);
    const int k = 1 + static_cast<int>(random() % 6);
    int best = 0;
    for (const unsigned x : choices(a, k)) {
      for (const unsigned y : choices(b, k)) best = std::max(best, std::popcount(x & y));
    }
    const double share = static_cast<double>(best) / k;
    ASSERT_TRUE(Agrees(TopK(k, share), a, b)) << "seed " << seed << ", case " << i;
    ASSERT_FALSE(Agrees(TopK(k, share + 0.01), a, b)) << "seed " << seed << ", case " << i;
    const bool top1 = Agrees(Rule(OutputRule::TOP1), a, b);
    ASSERT_TRUE(k != 1 || top1 == (best == 1)) << "seed " << seed << ", case " << i;
  }
}

TEST(Agreement, CosineComparesDirections) {
  EXPECT_TRUE(Agrees(Cosine(0.7), {1, 0}, {1, 1}));
  EXPECT_FALSE(Agrees(Cosine(0.71), {1, 0}, {1, 1}));
  EXPECT_TRUE(Agrees(Cosine(1), {1, 2, 3}, {3, 6, 9}));
  EXPECT_FALSE(Agrees(Cosine(0.9), {1, 2}, {-1, -2}));
  EXPECT_TRUE(Agrees(Cosine(0.9), {0, 0}, {0, 0})) << "equal rows agree";
  EXPECT_FALSE(Agrees(Cosine(0), {0, 0}, {1, 0}));
  EXPECT_TRUE(Agrees(Cosine(1), {kInf, 1}, {kInf, 1}));
  EXPECT_FALSE(Agrees(Cosine(0), {kInf, 1}, {kInf, 2}));
  const auto doubles = [](double x, double y) { return Tensor::Of<double>({1, 2}, {x, y}); };
  EXPECT_TRUE(RowAgrees(Cosine(0.999), doubles(1e300, 2e300), doubles(1e-300, 2e-300), 0)) << "no square overflows";
  EXPECT_FALSE(RowAgrees(Cosine(0.999), doubles(1e300, 2e300), doubles(2e-300, 1e-300), 0));
}

TEST(Agreement, WithinComparesEachValueWithStables) {
  EXPECT_TRUE(Agrees(Within(0.5, 0), {1.5, 2}, {1, 2}));
  EXPECT_FALSE(Agrees(Within(0.5, 0), {1.75, 2}, {1, 2}));
  EXPECT_TRUE(Agrees(Within(0, 0.5), {3}, {2})) << "half of stable's value";
  EXPECT_FALSE(Agrees(Within(0, 0.5), {2}, {4.5}));
  EXPECT_TRUE(Agrees(Within(0.5, 0.5), {-3.5}, {-2})) << "the two tolerances add up";
  EXPECT_FALSE(Agrees(Within(0.5, 0.5), {-3.75}, {-2}));
  EXPECT_TRUE(Agrees(Within(0), {0}, {-0.0F}));
  EXPECT_TRUE(Agrees(Within(0), {kInf}, {kInf}));
  EXPECT_FALSE(Agrees(Within(1, 1), {-kInf}, {kInf}));
  EXPECT_FALSE(Agrees(Within(1, 1), {1}, {kInf})) << "no number is near infinity";
  EXPECT_FALSE(Agrees(Within(1, 1), {kInf}, {1}));
}

TEST(Agreement, LargeIntegersAreNotRounded) {
  const auto of = [](int64_t value) { return Tensor::Of<int64_t>({1}, {value}); };
  constexpr int64_t kOdd = (int64_t{1} << 53) + 1;
  EXPECT_FALSE(RowAgrees(Within(0), of(kOdd), of(kOdd - 1), 0));
  EXPECT_TRUE(RowAgrees(Within(1), of(kOdd), of(kOdd - 1), 0));
  EXPECT_FALSE(
      RowAgrees(Within(1e18), of(std::numeric_limits<int64_t>::min()), of(std::numeric_limits<int64_t>::max()), 0))
      << "the difference does not overflow";
  const Tensor a = Tensor::Of<int64_t>({1, 2}, {kOdd, kOdd - 1}), b = Tensor::Of<int64_t>({1, 2}, {kOdd - 1, kOdd});
  EXPECT_FALSE(RowAgrees(Rule(OutputRule::TOP1), a, b, 0));
  const auto unsigned_of = [](uint64_t value) { return Tensor::Of<uint64_t>({1}, {value}); };
  EXPECT_TRUE(RowAgrees(Within(1), unsigned_of(0), unsigned_of(1), 0));
}

TEST(Agreement, NanAgreesOnlyWithNan) {
  for (const OutputRule& rule : {Rule(OutputRule::TOP1), TopK(2, 0), Cosine(0), Within(9, 9)}) {
    EXPECT_TRUE(Agrees(rule, {kNan, 1}, {kNan, 1})) << node_contract::TextOf(rule);
    EXPECT_FALSE(Agrees(rule, {kNan, 1}, {1, 1})) << node_contract::TextOf(rule);
    EXPECT_FALSE(Agrees(rule, {1, 1}, {1, kNan})) << node_contract::TextOf(rule);
  }
  EXPECT_FALSE(Agrees(Within(9, 9), {kNan, 1}, {1, kNan}));
  EXPECT_TRUE(Agrees(Equal(), {kNan, 1}, {kNan, 1}));
  EXPECT_FALSE(Agrees(Equal(), {kNan, 1}, {-kNan, 1})) << "other bits";
  EXPECT_FALSE(Agrees(Equal(), {0}, {-0.0F}));
}

TEST(Agreement, StringsMayDifferInWhitespaceIfTheRuleSaysSo) {
  const auto agrees = [](const OutputRule& rule, const std::string& a, const std::string& b) {
    return RowAgrees(rule, Tensor::Of<std::string>({1, 2}, {a, "x"}), Tensor::Of<std::string>({1, 2}, {b, "x"}), 0);
  };
  EXPECT_TRUE(agrees(Equal(), "one two", "one two"));
  EXPECT_FALSE(agrees(Equal(), "one two", "one  two"));
  EXPECT_TRUE(agrees(Equal(true), " one\t\r\n two\f\v", "one two"));
  EXPECT_FALSE(agrees(Equal(true), "one two", "onetwo"));
  EXPECT_FALSE(agrees(Equal(true), "one two", "one Two"));
  EXPECT_TRUE(agrees(Equal(true), " \n ", ""));
  EXPECT_FALSE(agrees(Equal(true), std::string("a\0b", 3), std::string("a\0c", 3))) << "zero bytes are not an end";
  const Tensor rows = Tensor::Of<std::string>({2}, {"a", "b"}), others = Tensor::Of<std::string>({2}, {"a", "c"});
  EXPECT_TRUE(RowAgrees(Equal(), rows, others, 0));
  EXPECT_FALSE(RowAgrees(Equal(), rows, others, 1));
}

control::Validation Validation(const std::vector<OutputRule>& rules) {
  control::Validation validation;
  for (const OutputRule& rule : rules) *validation.add_output_rules() = rule;
  return validation;
}

TEST(OutputRules, AreLimitedAndCountedOnce) {
  std::vector<OutputRule> rules(40, Within(1));
  EXPECT_EQ(RulesOf(Validation(rules))->size(), 1u) << "equal rules would count the same rows twice";
  for (size_t i = 0; i < rules.size(); ++i) rules[i].set_absolute(static_cast<double>(i));
  const auto limited = RulesOf(Validation(rules));
  ASSERT_EQ(limited->size(), static_cast<size_t>(node_contract::kOutputRulesMax));
  EXPECT_EQ(limited->back().text, node_contract::TextOf(rules[31]));
}

TEST(CompareOutputs, TellsADifferenceOfTheCandidateFromTheNoiseOfStable) {
  const auto rules = RulesOf(Validation({Within(0.5)}));
  const auto compare = [&](float candidate, float stable, float before) {
    const TensorMap a{{"scores", Columns({candidate})}}, b{{"scores", Columns({stable})}},
        c{{"scores", Columns({before})}};
    const OutputOutcome outcome = CompareOutputs(*rules, {a, b, &c}, 0).at(0);
    EXPECT_TRUE(outcome.counted);
    EXPECT_EQ(outcome.rule, "scores: Within, absolute 0.5, relative 0");
    return std::pair(outcome.differs, outcome.noise);
  };
  EXPECT_EQ(compare(1, 1, 1), std::pair(false, false));
  EXPECT_EQ(compare(2, 1, 1), std::pair(true, false));
  EXPECT_EQ(compare(1, 1, 2), std::pair(false, true));
  EXPECT_EQ(compare(2, 1, 2), std::pair(true, true));
}

TEST(SeverityOf, IsForWithinTheRelativeDifferenceOfTheOutput) {
  const auto of = [](const Tensor& candidate, const Tensor& stable) {
    return SeverityOf(Within(0), candidate, stable);
  };
  EXPECT_DOUBLE_EQ(of(Floats({2}, {3, 1}), Floats({2}, {1, 1})), 0.5);
  EXPECT_DOUBLE_EQ(of(Floats({2}, {30, 10}), Floats({2}, {10, 10})), 0.5) << "the scale makes no difference";
  EXPECT_DOUBLE_EQ(of(Floats({2}, {1e-9F, 1}), Floats({2}, {0, 1})), 1e-9F / 2) << "a value near 0 is not far away";
  EXPECT_DOUBLE_EQ(of(Floats({1}, {1}), Floats({1}, {-1})), 1);
  EXPECT_DOUBLE_EQ(of(Tensor::Of<int64_t>({2}, {3, 0}), Tensor::Of<int64_t>({2}, {1, 0})), 0.5);
  EXPECT_DOUBLE_EQ(of(Floats({2}, {kNan, 3}), Floats({2}, {kNan, 1})), 0.5) << "two NaN agree";
  EXPECT_DOUBLE_EQ(of(Floats({2}, {kNan, 1}), Floats({2}, {1, 1})), 1);
  EXPECT_DOUBLE_EQ(of(Floats({2}, {kInf, 3}), Floats({2}, {kInf, 1})), 0.5) << "two equal infinities agree";
  EXPECT_DOUBLE_EQ(of(Floats({2}, {kInf, 1}), Floats({2}, {-kInf, 1})), 1);
  EXPECT_DOUBLE_EQ(of(Floats({2}, {1, 1}), Floats({1}, {1})), 1) << "another shape";
}

TEST(SeverityOf, IsForOtherMeasuresTheShareOfTheRowsThatDiffer) {
  const Tensor stable = Floats({4, 2}, {1, 0, 1, 0, 1, 0, 1, 0}), one_row = Floats({4, 2}, {1, 0, 0, 1, 1, 0, 1, 0});
  EXPECT_DOUBLE_EQ(SeverityOf(Rule(OutputRule::TOP1), one_row, stable), 0.25);
  EXPECT_DOUBLE_EQ(SeverityOf(Equal(), one_row, stable), 0.25);
  const Tensor words = Tensor::Of<std::string>({2}, {"a", "b"}), other = Tensor::Of<std::string>({2}, {"a", "c"});
  EXPECT_DOUBLE_EQ(SeverityOf(Equal(), other, words), 0.5);
}

TEST(CompareOutputs, SaysHowFarAnOutputDiffersByEachRule) {
  const auto rules = RulesOf(Validation({Within(0.5), Within(5)}));
  const TensorMap candidate{{"scores", Columns({3})}, {"other", Columns({1000})}},
      stable{{"scores", Columns({1})}, {"other", Columns({0})}};
  const auto outcomes = CompareOutputs(*rules, {candidate, stable, &stable}, 0);
  EXPECT_DOUBLE_EQ(outcomes.at(0).severity, 0.5) << "outputs without a rule do not count";
  EXPECT_DOUBLE_EQ(outcomes.at(1).severity, 0) << "it does not differ";
  EXPECT_DOUBLE_EQ(CompareOutputs(*rules, {candidate, stable, &candidate}, 0).at(0).severity, 0) << "noise";
  EXPECT_DOUBLE_EQ(CompareOutputs(*rules, {{}, stable, &stable}, 0).at(0).severity, 1) << "the output is missing";
}

TEST(CompareOutputs, AllRulesCompareTheSameRow) {
  OutputRule other = Equal();
  other.set_output("ids");
  const auto rules = RulesOf(Validation({Within(0), other}));
  const auto answer = [](float last) {
    return TensorMap{{"scores", Floats({3}, {1, 2, last})}, {"ids", Tensor::Of<int64_t>({3}, {7, 8, int64_t(last)})}};
  };
  const TensorMap candidate = answer(9), stable = answer(3);
  for (uint64_t random = 0; random < 9; ++random) {
    for (const OutputOutcome& outcome : CompareOutputs(*rules, {candidate, stable, &stable}, random))
      EXPECT_EQ(outcome.differs, random % 3 == 2) << outcome.output << " " << random;
  }
}

TEST(CompareOutputs, RulesThatCannotCompareAreNotCounted) {
  OutputRule unknown = Equal();
  unknown.set_output("embeddings");
  const auto rules = RulesOf(Validation({Rule(OutputRule::TOP1), unknown, Within(0)}));
  const TensorMap stable{{"scores", Floats({2}, {1, 2})}}, nothing;
  std::vector<bool> counted;
  for (const auto& outcome : CompareOutputs(*rules, {nothing, stable, &stable}, 0)) counted.push_back(outcome.counted);
  EXPECT_THAT(counted, ElementsAre(false, false, true)) << "a vector has no columns; no output is named embeddings";
  EXPECT_TRUE(CompareOutputs(*rules, {nothing, stable, &stable}, 0)[2].differs) << "the candidate lacks the output";
  EXPECT_FALSE(CompareOutputs(*rules, {stable, stable, nullptr}, 0)[2].counted) << "stable ran only once";
}

tensorflow::SignatureDef Signature(const Shape& sizes) {
  tensorflow::SignatureDef signature;
  auto& shape = *(*signature.mutable_outputs())["scores"].mutable_tensor_shape();
  for (const int64_t size : sizes) shape.add_dim()->set_size(size);
  return signature;
}

TEST(Mismatch, NamesTheOutputAndWhatBothVersionsHave) {
  const auto mismatch = [](const Tensor& candidate, const Tensor& stable, const Shape& stated) {
    return Mismatch({{"scores", candidate}}, {{"scores", stable}}, Signature(stated));
  };
  const Tensor stable = Floats({1, 2, 3}, std::vector<float>(6));
  EXPECT_EQ(mismatch(stable, stable, {-1, 2, -1}), "");
  EXPECT_EQ(mismatch(Floats({1, 3, 2}, std::vector<float>(6)), stable, {-1, 2, -1}),
            "output \"scores\": the candidate has DT_FLOAT [1,3,2], stable has DT_FLOAT [1,2,3]");
  EXPECT_EQ(mismatch(Floats({1, 2, 1}, {1, 2}), stable, {-1, 2, -1}), "") << "no size is stated for this dimension";
  EXPECT_EQ(mismatch(Floats({3, 2, 3}, std::vector<float>(18)), stable, {1, 2, 3}), "") << "the rows do not count";
  EXPECT_NE(mismatch(Floats({1, 6}, std::vector<float>(6)), stable, {}), "");
  EXPECT_EQ(mismatch(Tensor::Of<double>({1}, {1}), Floats({1}, {1}), {-1}),
            "output \"scores\": the candidate has DT_DOUBLE [1], stable has DT_FLOAT [1]");
  const TensorMap both{{"ids", Floats({1}, {1})}, {"scores", stable}}, one{{"scores", stable}};
  EXPECT_EQ(Mismatch(both, one, {}), "output \"ids\": the candidate has DT_FLOAT [1], stable has no such output");
  EXPECT_EQ(Mismatch(one, both, {}), "output \"ids\": the candidate has no such output, stable has DT_FLOAT [1]");
  EXPECT_EQ(Mismatch({}, {}, {}), "");
}

}  // namespace
}  // namespace longshore::evidence
