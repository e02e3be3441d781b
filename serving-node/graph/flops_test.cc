#include "serving-node/graph/flops.h"

#include <gtest/gtest.h>

namespace longshore::graph {
namespace {

using tensor::Shape;

Node NodeOf(const std::string& op) {
  Node node;
  node.op = op;
  return node;
}

TEST(Flops, OfProductsAreTwoPerMultiplyAdd) {
  EXPECT_EQ(Flops(NodeOf("MatMul"), {{2, 3}, {3, 4}}, {{2, 4}}), 2 * 2 * 3 * 4);
  EXPECT_EQ(Flops(NodeOf("MatMul"), {{3, 2}, {3, 4}}, {{2, 4}}), 2 * 2 * 3 * 4) << "the first operand is transposed";
  EXPECT_EQ(Flops(NodeOf("BatchMatMulV2"), {{5, 2, 3}, {5, 3, 4}}, {{5, 2, 4}}), 5 * 2 * 2 * 3 * 4);
  EXPECT_EQ(Flops(NodeOf("Conv2D"), {{1, 9, 9, 2}, {3, 3, 2, 8}}, {{1, 7, 7, 8}}), 2 * 7 * 7 * 8 * 3 * 3 * 2);
  EXPECT_EQ(Flops(NodeOf("DepthwiseConv2dNative"), {{1, 9, 9, 2}, {3, 3, 2, 1}}, {{1, 7, 7, 2}}), 2 * 7 * 7 * 2 * 9);
}

TEST(Flops, OfConvolutionsOfVolumesAreTwoPerMultiplyAdd) {
  EXPECT_EQ(Flops(NodeOf("Conv3D"), {{1, 5, 9, 9, 2}, {2, 3, 3, 2, 8}}, {{1, 4, 7, 7, 8}}),
            2 * 4 * 7 * 7 * 8 * 2 * 3 * 3 * 2);
}

// The filter is [height, width, output channels, input channels]. The number of operations depends on the size of the
// last input, which is the image, and not on the size of the output.
TEST(Flops, OfTransposedConvolutionsAreTwoPerMultiplyAddOfTheInput) {
  EXPECT_EQ(Flops(NodeOf("Conv2DBackpropInput"), {{4}, {3, 3, 8, 2}, {1, 7, 7, 2}}, {{1, 14, 14, 8}}),
            2 * 7 * 7 * 2 * 3 * 3 * 8);
}

Node Einsum(const std::string& equation) {
  Node node = NodeOf("Einsum");
  tensorflow::AttrValue value;
  value.set_s(equation);
  node.attributes.Set("equation", value);
  return node;
}

TEST(Flops, OfAnEinsumAreTwiceTheProductOfItsSizes) {
  EXPECT_EQ(Flops(Einsum("bhqd,bhkd->bhqk"), {{2, 3, 5, 7}, {2, 3, 11, 7}}, {{2, 3, 5, 11}}), 2 * 2 * 3 * 5 * 7 * 11);
}

TEST(Flops, OfAnEinsumWithoutAProductOrWithAnEllipsisAreOnePerElement) {
  EXPECT_EQ(Flops(Einsum("ab->ba"), {{3, 5}}, {{5, 3}}), 15);
  EXPECT_EQ(Flops(Einsum("...a,ab->...b"), {{4, 3}, {3, 5}}, {{4, 5}}), 20);
  EXPECT_EQ(Flops(Einsum("ab,bc->ac"), {{3, 5}}, {{3, 7}}), 21) << "an operand is missing";
}

// The numbers of operations for these sizes do not fit into 64 bits. Their lower 64 bits are positive numbers, so a
// check of the sign would not find the overflow.
TEST(Flops, ThatOverflowAreOnePerElement) {
  constexpr int64_t kLarge = 2'000'000'011;
  EXPECT_EQ(Flops(Einsum("ab,bc->ac"), {{kLarge, kLarge}, {kLarge, 3}}, {{kLarge, 3}}), 3 * kLarge);
  EXPECT_EQ(Flops(NodeOf("MatMul"), {{kLarge, kLarge}, {kLarge, 3}}, {{kLarge, 3}}), 3 * kLarge);
  EXPECT_EQ(Flops(NodeOf("Conv3D"), {{1, 1, 1, kLarge, kLarge}, {1, 1, 1, kLarge, 3}}, {{1, 1, 1, kLarge, 3}}),
            3 * kLarge);
}

// The layers have 3 inputs and 5 cells. The batch has 2 rows, and each sequence has 7 steps.
TEST(Flops, OfRecurrentCellsAreTheProductsOfTheirGates) {
  const Shape state = {2, 5}, peephole = {5}, weights = {3 + 5, 4 * 5}, bias = {4 * 5};
  EXPECT_EQ(Flops(NodeOf("LSTMBlockCell"), {{2, 3}, state, state, weights, peephole, peephole, peephole, bias},
                  std::vector<Shape>(7, state)),
            2 * 2 * (3 + 5) * 4 * 5);
  for (const char* op : {"BlockLSTM", "BlockLSTMV2"}) {
    EXPECT_EQ(Flops(NodeOf(op), {{}, {7, 2, 3}, state, state, weights, peephole, peephole, peephole, bias},
                    std::vector<Shape>(7, {7, 2, 5})),
              7 * 2 * 2 * (3 + 5) * 4 * 5);
  }
  EXPECT_EQ(Flops(NodeOf("GRUBlockCell"), {{2, 3}, state, {3 + 5, 2 * 5}, {3 + 5, 5}, {2 * 5}, {5}},
                  std::vector<Shape>(4, state)),
            2 * 2 * (3 + 5) * 3 * 5);
}

TEST(Flops, OfOtherOpsAreOnePerElementAndZeroForMoves) {
  EXPECT_EQ(Flops(NodeOf("Relu"), {{4, 5}}, {{4, 5}}), 20);
  for (const char* op : {"Reshape", "Slice", "Tile", "Split", "GatherNd", "OneHot", "MirrorPad", "Roll",
                         "ResizeNearestNeighbor", "Identity", "StopGradient", "IdentityN", "Shape", "Size"}) {
    EXPECT_EQ(Flops(NodeOf(op), {{4, 5}, {2}}, {{20}}), 0) << op;
  }
  for (const char* op : {"ResizeBilinear", "TopKV2"}) EXPECT_EQ(Flops(NodeOf(op), {{4, 5}, {2}}, {{20}}), 20) << op;
  EXPECT_EQ(Flops(NodeOf("NoOp"), {}, {}), 0);
  EXPECT_EQ(Flops(NodeOf("MatMul"), {{0, 3}, {3, 4}}, {{0, 4}}), 0);
}

}  // namespace
}  // namespace longshore::graph
