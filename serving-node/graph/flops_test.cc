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

TEST(Flops, OfAnEinsumAreTwiceTheProductOfItsSizes) {
  Node node = NodeOf("Einsum");
  tensorflow::AttrValue equation;
  equation.set_s("bhqd,bhkd->bhqk");
  node.attributes.Set("equation", equation);
  EXPECT_EQ(Flops(node, {{2, 3, 5, 7}, {2, 3, 11, 7}}, {{2, 3, 5, 11}}), 2 * 2 * 3 * 5 * 7 * 11);
}

// 3 inputs and 5 cells for each of 2 rows; sequences of 7 steps.
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
  EXPECT_EQ(Flops(NodeOf("Reshape"), {{4, 5}, {2}}, {{20}}), 0);
  EXPECT_EQ(Flops(NodeOf("NoOp"), {}, {}), 0);
  EXPECT_EQ(Flops(NodeOf("MatMul"), {{0, 3}, {3, 4}}, {{0, 4}}), 0);
}

}  // namespace
}  // namespace longshore::graph
