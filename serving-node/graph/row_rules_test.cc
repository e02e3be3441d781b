#include "serving-node/graph/row_rules.h"

#include <gtest/gtest.h>

#include <utility>

namespace longshore::graph {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

Type Floats(Shape shape) { return {DType::kFloat, std::move(shape), std::nullopt}; }

// A value that is known before the run.
Type Ints(const std::vector<int32_t>& values) {
  const Shape shape = {std::ssize(values)};
  return {DType::kInt32, shape, Tensor::Of<int32_t>(shape, values)};
}

struct Input {
  RowKind kind;
  Type type;
};

const Input kImages = {RowKind::kRows, Floats({6, 3, 4})};
const Input kVectors = {RowKind::kRows, Floats({6, 4})};
const Input kWeights = {RowKind::kSame, Floats({4, 5})};

Input Known(const std::vector<int32_t>& values) { return {RowKind::kSame, Ints(values)}; }

// An op with inputs, and an output that has the shape [6, 3, 4] unless a test sets another one.
struct Example {
  std::vector<Input> inputs;
  Type output = Floats({6, 3, 4});
  Node node = {};

  bool Satisfies(RowRule rule) const {
    NodeRows of{.node = node, .inputs = {}, .output = output};
    for (const Input& input : inputs) of.inputs.push_back({input.kind, input.type});
    return rule(of);
  }

  Example& Set(const std::string& name, const tensorflow::AttrValue& value) {
    node.attributes.Set(name, value);
    return *this;
  }
  Example& SetInt(const std::string& name, int64_t number) {
    tensorflow::AttrValue value;
    value.set_i(number);
    return Set(name, value);
  }
};

TEST(RowRules, ByRowOfFirstHoldsIfOnlyTheFirstInputHasRows) {
  EXPECT_TRUE((Example{{kImages}}).Satisfies(ByRowOfFirst));
  EXPECT_TRUE((Example{{kImages, kWeights, kWeights}}).Satisfies(ByRowOfFirst));
  EXPECT_FALSE((Example{{}}).Satisfies(ByRowOfFirst));
  EXPECT_FALSE((Example{{kWeights, kImages}}).Satisfies(ByRowOfFirst));
  EXPECT_FALSE((Example{{kImages, kImages}}).Satisfies(ByRowOfFirst));
  EXPECT_FALSE((Example{{kImages, {RowKind::kCounted, Ints({6})}}}).Satisfies(ByRowOfFirst));
  EXPECT_FALSE((Example{{{RowKind::kOther, Floats({6})}}}).Satisfies(ByRowOfFirst));
}

TEST(RowRules, ByRowOfAllHoldsIfInputsWithRowsHaveTheRankOfTheOutput) {
  EXPECT_TRUE((Example{{kImages, kWeights}}).Satisfies(ByRowOfAll));
  EXPECT_TRUE((Example{{kWeights, kImages}}).Satisfies(ByRowOfAll));
  EXPECT_TRUE((Example{{kImages, kImages}}).Satisfies(ByRowOfAll));
  EXPECT_FALSE((Example{{kImages, kVectors}}).Satisfies(ByRowOfAll)) << "rows of [6, 4] become columns of [6, 3, 4]";
  EXPECT_FALSE((Example{{kImages, {RowKind::kCounted, Ints({6})}}}).Satisfies(ByRowOfAll));
}

TEST(RowRules, ByRowOfMatricesHoldsIfTheMatricesAreInABatch) {
  EXPECT_TRUE((Example{{kImages, kImages}}).Satisfies(ByRowOfMatrices));
  EXPECT_FALSE((Example{{kVectors, kVectors}, Floats({6, 4})}).Satisfies(ByRowOfMatrices));
}

TEST(RowRules, ByRowOfConcatHoldsForAxesBehindTheFirst) {
  for (const int32_t axis : {1, 2, -1, -2})
    EXPECT_TRUE((Example{{kImages, kImages, Known({axis})}}).Satisfies(ByRowOfConcat)) << axis;
  for (const int32_t axis : {0, -3})
    EXPECT_FALSE((Example{{kImages, kImages, Known({axis})}}).Satisfies(ByRowOfConcat)) << axis;
  EXPECT_FALSE((Example{{kImages, kWeights, Known({1})}}).Satisfies(ByRowOfConcat)) << "not all of them have rows";
  EXPECT_FALSE((Example{{kImages, kImages, {RowKind::kSame, Floats({1})}}}).Satisfies(ByRowOfConcat))
      << "the axis is not known";
  EXPECT_FALSE((Example{{}}).Satisfies(ByRowOfConcat));
}

TEST(RowRules, ByRowOfEinsumHoldsIfTheRowIsTheFirstLabel) {
  const auto holds = [](const std::string& equation, const std::vector<Input>& inputs) {
    tensorflow::AttrValue value;
    value.set_s(equation);
    return Example{inputs}.Set("equation", value).Satisfies(ByRowOfEinsum);
  };
  EXPECT_TRUE(holds("abc,cd->abd", {kImages, kWeights}));
  EXPECT_TRUE(holds("cd,abc->abd", {kWeights, kImages}));
  EXPECT_TRUE(holds("abc,abd->acd", {kImages, kImages}));
  EXPECT_FALSE(holds("abc,dbc->ad", {kImages, kImages})) << "multiplies each row with each other row";
  EXPECT_FALSE(holds("bac,cd->abd", {kImages, kWeights})) << "rows become the second axis";
  EXPECT_FALSE(holds("ab,ca->ac", {kVectors, kWeights})) << "the weights have a row too";
  EXPECT_FALSE(holds("abc->", {kImages})) << "the sum over all rows";
  EXPECT_FALSE(holds("...c,cd->...d", {kImages, kWeights}));
  EXPECT_FALSE(holds("abc,cd->abd", {kImages})) << "an operand is missing";
  EXPECT_FALSE(holds("abc,cd->abd", {kImages, {RowKind::kCounted, Floats({4, 5})}}));
}

TEST(RowRules, ByRowOfGatherHoldsForRowsOfIndicesIntoATable) {
  const Input indices = {RowKind::kRows, Floats({6})};
  EXPECT_TRUE((Example{{kWeights, indices, Known({0})}}).Satisfies(ByRowOfGather));
  EXPECT_FALSE((Example{{kWeights, indices, Known({1})}}).Satisfies(ByRowOfGather));
  EXPECT_FALSE((Example{{kImages, indices, Known({0})}}).Satisfies(ByRowOfGather)) << "the table has rows";
  EXPECT_FALSE((Example{{kWeights, indices}}).Satisfies(ByRowOfGather));
  EXPECT_FALSE((Example{{kWeights, indices, Known({0})}}).SetInt("batch_dims", 1).Satisfies(ByRowOfGather));
}

TEST(RowRules, ByRowOfMatMulHoldsUnlessTheFirstOperandIsTransposed) {
  EXPECT_TRUE((Example{{kVectors, kWeights}}).Satisfies(ByRowOfMatMul));
  EXPECT_FALSE((Example{{kWeights, kVectors}}).Satisfies(ByRowOfMatMul));
  tensorflow::AttrValue yes;
  yes.set_b(true);
  EXPECT_TRUE((Example{{kVectors, kWeights}}).Set("transpose_b", yes).Satisfies(ByRowOfMatMul));
  EXPECT_FALSE((Example{{kVectors, kWeights}}).Set("transpose_a", yes).Satisfies(ByRowOfMatMul));
}

TEST(RowRules, ByRowOfReductionHoldsIfTheFirstAxisIsNotReduced) {
  for (const auto& axes : {std::vector<int32_t>{1}, std::vector<int32_t>{-1, -2}, std::vector<int32_t>{}})
    EXPECT_TRUE((Example{{kImages, Known(axes)}}).Satisfies(ByRowOfReduction)) << axes.size();
  for (const auto& axes : {std::vector<int32_t>{0}, std::vector<int32_t>{1, -3}})
    EXPECT_FALSE((Example{{kImages, Known(axes)}}).Satisfies(ByRowOfReduction)) << axes.size();
  EXPECT_FALSE((Example{{kImages, {RowKind::kCounted, Ints({1})}}}).Satisfies(ByRowOfReduction))
      << "the axes depend on the number of rows";
}

TEST(RowRules, ByRowOfReshapeHoldsIfTheReshapedValueHasRows) {
  EXPECT_TRUE((Example{{kImages, Known({-1, 12})}}).Satisfies(ByRowOfReshape));
  EXPECT_TRUE((Example{{kImages, {RowKind::kCounted, Ints({6, 12})}}}).Satisfies(ByRowOfReshape));
  EXPECT_FALSE((Example{{kWeights, Known({-1, 12})}}).Satisfies(ByRowOfReshape));
}

TEST(RowRules, ByRowOfSoftmaxHoldsIfTheLastAxisIsNotTheFirst) {
  EXPECT_TRUE((Example{{kVectors}, Floats({6, 4})}).Satisfies(ByRowOfSoftmax));
  EXPECT_FALSE((Example{{{RowKind::kRows, Floats({6})}}, Floats({6})}).Satisfies(ByRowOfSoftmax));
}

TEST(RowRules, ByRowOfStridedSliceHoldsIfTheWholeFirstAxisIsTaken) {
  const auto example = [](const Input& strides) {
    return Example{{kImages, Known({0, 1}), Known({0, 3}), strides}}.SetInt("begin_mask", 1).SetInt("end_mask", 1);
  };
  EXPECT_TRUE(example(Known({1, 2})).Satisfies(ByRowOfStridedSlice));
  EXPECT_TRUE(example(Known({1, 2})).SetInt("shrink_axis_mask", 2).Satisfies(ByRowOfStridedSlice));
  EXPECT_FALSE(example(Known({2, 1})).Satisfies(ByRowOfStridedSlice)) << "every second row";
  EXPECT_FALSE(example(Known({-1, 1})).Satisfies(ByRowOfStridedSlice)) << "the rows in reverse";
  EXPECT_FALSE(example({RowKind::kSame, Floats({2})}).Satisfies(ByRowOfStridedSlice)) << "the strides are not known";
  for (const char* mask : {"begin_mask", "end_mask"})
    EXPECT_FALSE(example(Known({1, 2})).SetInt(mask, 2).Satisfies(ByRowOfStridedSlice)) << mask;
  for (const char* mask : {"shrink_axis_mask", "new_axis_mask", "ellipsis_mask"})
    EXPECT_FALSE(example(Known({1, 2})).SetInt(mask, 1).Satisfies(ByRowOfStridedSlice)) << mask;
}

TEST(RowRules, ByRowOfTransposeHoldsIfTheFirstAxisStaysFirst) {
  EXPECT_TRUE((Example{{kImages, Known({0, 2, 1})}}).Satisfies(ByRowOfTranspose));
  EXPECT_FALSE((Example{{kImages, Known({1, 0, 2})}}).Satisfies(ByRowOfTranspose));
  EXPECT_FALSE((Example{{kImages, {RowKind::kSame, Floats({3})}}}).Satisfies(ByRowOfTranspose))
      << "the order is not known";
}

}  // namespace
}  // namespace longshore::graph
