#include <gmock/gmock.h>

#include "serving-node/engine/host/host.h"
#include "serving-node/engine/interpreter/flops.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::engine::host {
namespace {

using tensor::Shape;

graph::Node NodeOf(const std::string& op) {
  graph::Node node;
  node.op = op;
  return node;
}

TEST(Flops, OfProductsAreTwoPerMultiplyAdd) {
  EXPECT_EQ(interpreter::Flops(NodeOf("MatMul"), {{2, 3}, {3, 4}}, {{2, 4}}), 2 * 2 * 3 * 4);
  EXPECT_EQ(interpreter::Flops(NodeOf("MatMul"), {{3, 2}, {3, 4}}, {{2, 4}}), 2 * 2 * 3 * 4)
      << "the first operand is transposed";
  EXPECT_EQ(interpreter::Flops(NodeOf("BatchMatMulV2"), {{5, 2, 3}, {5, 3, 4}}, {{5, 2, 4}}), 5 * 2 * 2 * 3 * 4);
  EXPECT_EQ(interpreter::Flops(NodeOf("Conv2D"), {{1, 9, 9, 2}, {3, 3, 2, 8}}, {{1, 7, 7, 8}}),
            2 * 7 * 7 * 8 * 3 * 3 * 2);
  EXPECT_EQ(interpreter::Flops(NodeOf("DepthwiseConv2dNative"), {{1, 9, 9, 2}, {3, 3, 2, 1}}, {{1, 7, 7, 2}}),
            2 * 7 * 7 * 2 * 9);
}

TEST(Flops, OfAnEinsumAreTwiceTheProductOfItsSizes) {
  graph::Node node = NodeOf("Einsum");
  tensorflow::AttrValue equation;
  equation.set_s("bhqd,bhkd->bhqk");
  node.attributes.Set("equation", equation);
  EXPECT_EQ(interpreter::Flops(node, {{2, 3, 5, 7}, {2, 3, 11, 7}}, {{2, 3, 5, 11}}), 2 * 2 * 3 * 5 * 7 * 11);
}

// 3 inputs and 5 cells for each of 2 rows; sequences of 7 steps.
TEST(Flops, OfRecurrentCellsAreTheProductsOfTheirGates) {
  const Shape state = {2, 5}, peephole = {5}, weights = {3 + 5, 4 * 5}, bias = {4 * 5};
  EXPECT_EQ(
      interpreter::Flops(NodeOf("LSTMBlockCell"), {{2, 3}, state, state, weights, peephole, peephole, peephole, bias},
                         std::vector<Shape>(7, state)),
      2 * 2 * (3 + 5) * 4 * 5);
  for (const char* op : {"BlockLSTM", "BlockLSTMV2"}) {
    EXPECT_EQ(interpreter::Flops(NodeOf(op), {{}, {7, 2, 3}, state, state, weights, peephole, peephole, peephole, bias},
                                 std::vector<Shape>(7, {7, 2, 5})),
              7 * 2 * 2 * (3 + 5) * 4 * 5);
  }
  EXPECT_EQ(interpreter::Flops(NodeOf("GRUBlockCell"), {{2, 3}, state, {3 + 5, 2 * 5}, {3 + 5, 5}, {2 * 5}, {5}},
                               std::vector<Shape>(4, state)),
            2 * 2 * (3 + 5) * 3 * 5);
}

TEST(Flops, OfOtherOpsAreOnePerElementAndZeroForMoves) {
  EXPECT_EQ(interpreter::Flops(NodeOf("Relu"), {{4, 5}}, {{4, 5}}), 20);
  EXPECT_EQ(interpreter::Flops(NodeOf("Reshape"), {{4, 5}, {2}}, {{20}}), 0);
  EXPECT_EQ(interpreter::Flops(NodeOf("NoOp"), {}, {}), 0);
  EXPECT_EQ(interpreter::Flops(NodeOf("MatMul"), {{0, 3}, {3, 4}}, {{0, 4}}), 0);
}

class ProfileTest : public testing::Test {
 protected:
  const Path digits_ = source_tree::Root() / "tests/models/digits/2";
  const std::unique_ptr<Engine> engine_ = MakeEngine({.threads = 1});
  const std::shared_ptr<LoadedModel> model_ = engine_->Load(digits_, {}).value();
  const RunRequest request_{.signature = "serving_default",
                            .inputs = {{"image", tensor::Tensor::Of<float>({1, 8, 8, 1}, std::vector<float>(64))}},
                            .outputs = {}};
};

TEST_F(ProfileTest, HasTheOutputsOfARunAndEveryNode) {
  const auto profile = model_->Profile(request_);
  ASSERT_TRUE(profile) << profile.error().message;
  const auto outputs = RunAndWait(*model_, request_);
  ASSERT_EQ(profile->outputs.size(), outputs->size());
  const auto same = [&](const char* name) {
    const auto got = profile->outputs.at(name).values<float>(), want = outputs->at(name).values<float>();
    return std::equal(got.begin(), got.end(), want.begin(), want.end());
  };
  EXPECT_TRUE(same("probabilities"));
  const auto is_convolution = [](const NodeRun& node) { return node.op == "Conv2D" && node.flops > 10'000; };
  EXPECT_EQ(std::ranges::count_if(profile->nodes, is_convolution), 3);
  EXPECT_GE(profile->bytes_peak, 8 * 8 * 24 * sizeof(float)) << "the output of the first convolution";
}

TEST_F(ProfileTest, HasTheErrorsOfARun) {
  RunRequest wrong = request_;
  wrong.signature = "none";
  EXPECT_EQ(model_->Profile(wrong).error().code, Code::kNotFound);
  wrong = request_;
  wrong.inputs.clear();
  EXPECT_EQ(model_->Profile(wrong).error().code, Code::kInvalidArgument);
}

TEST_F(ProfileTest, CountsWeightsThatSignaturesShareOnce) {
  const int64_t stored = engine_->EstimateLoad(digits_, {})->weights_bytes;
  EXPECT_GT(model_->memory_bytes(), 0);
  EXPECT_LT(model_->memory_bytes(), stored);
}

TEST_F(ProfileTest, AModelThatLoadsHasNoUnsupportedOps) { EXPECT_TRUE(FindUnsupportedOps(digits_, {})->empty()); }

}  // namespace
}  // namespace longshore::engine::host
