#include "serving-node/engine/cpu/slices.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "serving-node/engine/cpu/evaluate.h"
#include "serving-node/graph/infer_types.h"
#include "serving-node/graph/rows.h"

namespace longshore::engine::cpu {
namespace {

using graph::Edge;
using graph::Graph;
using graph::Node;

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

Node Op(const std::string& name, const std::string& op, std::vector<Edge> inputs) {
  return {.name = name, .op = op, .attributes = {}, .inputs = std::move(inputs)};
}

Node Const(const Tensor& value) { return {.name = "c", .op = "Const", .values = {value}}; }
Tensor Ints(const std::vector<int32_t>& values) { return Tensor::Of<int32_t>({std::ssize(values)}, values); }

// A graph with these nodes. Node 0 is the fed x: [rows, rest]; the last node is the output.
Graph Fed(std::vector<Node> nodes) {
  Graph graph{.nodes = std::move(nodes), .fed = {{"x", 0}}, .outputs = {}, .arguments = {}, .bodies = {}};
  graph.outputs = {{static_cast<int>(graph.nodes.size()) - 1, 0}};
  return graph;
}

graph::Types TypesOf(const Graph& graph, int64_t rows, const Shape& rest) {
  Shape shape = {rows};
  shape.insert(shape.end(), rest.begin(), rest.end());
  kernels::Resources resources;
  return InferTypes(graph, {}, {{"x", {DType::kFloat, shape, std::nullopt}}}, EvaluateByKernels(resources, SIZE_MAX));
}

bool RowsAreIndependent(const Graph& graph, const Shape& rest = {2, 6}) {
  return graph::RowsAreIndependent(graph, TypesOf(graph, 6, rest), TypesOf(graph, 2, rest), {.many = 6, .few = 2});
}

// Whether the rows are independent in a graph of x (node 0), constants (nodes 1, 2, ...) and an op. `inputs`: the nodes
// that the op reads. `change` changes the op's node.
bool AreIndependentInOp(
    const std::string& op, const std::vector<Tensor>& constants, const std::vector<int>& inputs,
    const std::function<void(Node&)>& change = [](Node&) {}, const Shape& rest = {2, 6}) {
  std::vector<Node> nodes = {Op("x", "Placeholder", {})};
  for (const Tensor& constant : constants) nodes.push_back(Const(constant));
  std::vector<Edge> edges;
  for (const int input : inputs) edges.push_back({input, 0});
  nodes.push_back(Op("y", op, edges));
  change(nodes.back());
  return RowsAreIndependent(Fed(std::move(nodes)), rest);
}

void Set(Node& node, const std::string& name, const std::string& text) {
  tensorflow::AttrValue value;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &value));
  node.attributes.Set(name, value);
}

TEST(Rows, AreIndependentInElementwiseOps) {
  EXPECT_TRUE(AreIndependentInOp("Relu", {}, {0}));
  EXPECT_TRUE(AreIndependentInOp("AddV2", {Tensor::Of<float>({6}, std::vector<float>(6))}, {0, 1}));
  EXPECT_TRUE(AreIndependentInOp("Mul", {Tensor::Of<float>({1, 2, 1}, {1, 2})}, {1, 0}));
  EXPECT_FALSE(AreIndependentInOp("Mul", {Tensor::Of<float>({6, 1, 1}, std::vector<float>(6))}, {0, 1}))
      << "a number for each row";
  EXPECT_FALSE(AreIndependentInOp("Mul", {Tensor::Of<float>({1, 1, 1, 1}, {1})}, {0, 1}))
      << "rows are no longer the first axis";
  EXPECT_FALSE(AreIndependentInOp("Unique", {}, {0})) << "an unknown op";
}

TEST(Rows, AreIndependentInReductionsOfOtherAxes) {
  EXPECT_TRUE(AreIndependentInOp("Mean", {Ints({1, 2})}, {0, 1}));
  EXPECT_TRUE(AreIndependentInOp("Max", {Ints({-1})}, {0, 1}));
  EXPECT_FALSE(AreIndependentInOp("Mean", {Ints({0})}, {0, 1}));
  EXPECT_FALSE(AreIndependentInOp("Mean", {Ints({1, -3})}, {0, 1}));
  EXPECT_TRUE(AreIndependentInOp("Softmax", {}, {0}));
  EXPECT_FALSE(AreIndependentInOp("Softmax", {}, {0}, [](Node&) {}, {})) << "over the rows";
}

TEST(Rows, AreIndependentIfReshapedWithinEachRow) {
  EXPECT_TRUE(AreIndependentInOp("Reshape", {Ints({-1, 12})}, {0, 1}));
  EXPECT_FALSE(AreIndependentInOp("Reshape", {Ints({-1, 6})}, {0, 1}))
      << "an output must have one row per row of the batch, not two";
  EXPECT_TRUE(RowsAreIndependent(
      Fed({Op("x", "Placeholder", {}), Const(Ints({-1, 6})), Op("parts", "Reshape", {{0, 0}, {1, 0}}),
           Op("of_parts", "Softmax", {{2, 0}}), Const(Ints({-1, 12})), Op("y", "Reshape", {{3, 0}, {4, 0}})})))
      << "and back";
  EXPECT_FALSE(RowsAreIndependent(
      Fed({Op("x", "Placeholder", {}), Const(Ints({-1, 24})), Op("pairs", "Reshape", {{0, 0}, {1, 0}}),
           Op("of_pairs", "Softmax", {{2, 0}}), Const(Ints({-1, 12})), Op("y", "Reshape", {{3, 0}, {4, 0}})})))
      << "two rows in one";
  EXPECT_FALSE(AreIndependentInOp("Reshape", {Ints({6, 12})}, {0, 1})) << "this shape does not fit a smaller batch";
  const auto order = [](Node& node) { Set(node, "Tperm", "type: DT_INT32"); };
  EXPECT_TRUE(AreIndependentInOp("Transpose", {Ints({0, 2, 1})}, {0, 1}, order));
  EXPECT_FALSE(AreIndependentInOp("Transpose", {Ints({1, 0, 2})}, {0, 1}, order));
}

TEST(Rows, AreIndependentInProductsWithConstants) {
  const Tensor weights = Tensor::Of<float>({6, 3}, std::vector<float>(18));
  EXPECT_TRUE(AreIndependentInOp("MatMul", {weights}, {0, 1}, [](Node&) {}, {6}));
  EXPECT_FALSE(
      AreIndependentInOp("MatMul", {weights}, {0, 1}, [](Node& node) { Set(node, "transpose_a", "b: true"); }, {6}));
  EXPECT_FALSE(AreIndependentInOp("MatMul", {}, {0, 0}, [](Node& node) { Set(node, "transpose_b", "b: true"); }, {6}))
      << "multiplies each row with each other row";
  EXPECT_TRUE(AreIndependentInOp("BatchMatMulV2", {}, {0, 0}, [](Node& node) { Set(node, "adj_y", "b: true"); }));
  EXPECT_FALSE(AreIndependentInOp("BatchMatMulV2", {}, {0, 0}, [](Node& node) { Set(node, "adj_y", "b: true"); }, {6}));
}

TEST(Rows, AreIndependentInStridedSlicesThatTakeAllRows) {
  const auto masks = [](const std::string& begin, const std::string& shrink) {
    return [begin, shrink](Node& node) {
      Set(node, "begin_mask", "i: " + begin);
      Set(node, "end_mask", "i: 1");
      Set(node, "shrink_axis_mask", "i: " + shrink);
    };
  };
  const std::vector<Tensor> first = {Ints({0, 0}), Ints({0, 1}), Ints({1, 1})};
  EXPECT_TRUE(AreIndependentInOp("StridedSlice", first, {0, 1, 2, 3}, masks("1", "2")));
  EXPECT_FALSE(
      AreIndependentInOp("StridedSlice", {Ints({0, 0}), Ints({0, 1}), Ints({-1, 1})}, {0, 1, 2, 3}, masks("1", "2")))
      << "reverses the rows";
  EXPECT_FALSE(AreIndependentInOp("StridedSlice", first, {0, 1, 2, 3}, masks("0", "2")))
      << "the begin of the first axis is given explicitly";
  EXPECT_FALSE(AreIndependentInOp("StridedSlice", first, {0, 1, 2, 3}, masks("1", "1")));
}

TEST(Rows, AreIndependentInEinsumsWithRowsAsFirstAxis) {
  const Tensor weights = Tensor::Of<float>({6, 3}, std::vector<float>(18));
  const auto says = [](const std::string& equation) {
    return [equation](Node& node) { Set(node, "equation", "s: \"" + equation + "\""); };
  };
  EXPECT_TRUE(AreIndependentInOp("Einsum", {weights}, {0, 1}, says("abc,cd->abd")));
  EXPECT_TRUE(AreIndependentInOp("Einsum", {weights}, {1, 0}, says("cd,abc->abd")));
  EXPECT_TRUE(AreIndependentInOp("Einsum", {}, {0, 0}, says("abc,adc->abd")));
  EXPECT_FALSE(AreIndependentInOp("Einsum", {}, {0, 0}, says("abc,dbc->ad")))
      << "multiplies each row with each other row";
  EXPECT_FALSE(AreIndependentInOp("Einsum", {weights}, {0, 1}, says("bac,cd->abd"), {6, 6}))
      << "rows become the second axis";
}

TEST(Rows, AreIndependentInConcatenationsAlongOtherAxes) {
  EXPECT_TRUE(AreIndependentInOp("ConcatV2", {Tensor::Of<int32_t>({}, {1})}, {0, 0, 1}));
  EXPECT_FALSE(AreIndependentInOp("ConcatV2", {Tensor::Of<int32_t>({}, {0})}, {0, 0, 1}));
  EXPECT_FALSE(AreIndependentInOp("ConcatV2", {Tensor::Of<int32_t>({}, {-3})}, {0, 0, 1}));
}

TEST(Rows, AreNotIndependentIfTheirNumberIsUsed) {
  const Tensor one = Tensor::Of<float>({}, {1});
  Node cast = Op("n", "Cast", {{1, 0}});
  Set(cast, "DstT", "type: DT_FLOAT");
  EXPECT_FALSE(RowsAreIndependent(
      Fed({Op("x", "Placeholder", {}), Op("s", "Shape", {{0, 0}}), cast, Op("y", "Mul", {{0, 0}, {2, 0}})}), {2, 3}));
  const auto filled = Fed({Op("x", "Placeholder", {}), Op("s", "Shape", {{0, 0}}), Const(one),
                           Op("f", "Fill", {{1, 0}, {2, 0}}), Op("y", "Mul", {{0, 0}, {3, 0}})});
  EXPECT_TRUE(RowsAreIndependent(filled)) << "all rows of the mask are equal";
}

TEST(Rows, AreIndependentIfTheyLookUpConstants) {
  const auto gathered = [](const Tensor& table) {
    return Fed({Op("x", "Placeholder", {}), Const(Tensor::Of<int32_t>({}, {1})), Op("i", "ArgMax", {{0, 0}, {1, 0}}),
                Const(table), Const(Tensor::Of<int32_t>({}, {0})), Op("y", "GatherV2", {{3, 0}, {2, 0}, {4, 0}})});
  };
  EXPECT_TRUE(RowsAreIndependent(gathered(Tensor::Of<float>({6, 2}, std::vector<float>(12))), {6}));
  EXPECT_FALSE(RowsAreIndependent(gathered(Tensor::Of<std::string>({6}, std::vector<std::string>(6, "cat"))), {6}))
      << "strings";
}

// The slices of a graph with x: [rows, 1024], a product with weights of [1024, columns], and a Relu.
std::optional<Slices> SlicesOfProduct(int64_t rows, int64_t columns, int64_t bytes) {
  const Graph graph = Fed({Op("x", "Placeholder", {}), Const(*Tensor::Make(DType::kFloat, {1024, columns})),
                           Op("p", "MatMul", {{0, 0}, {1, 0}}), Op("y", "Relu", {{2, 0}})});
  return SlicesThatPay(graph, TypesOf(graph, rows, {1024}), bytes);
}

TEST(Slices, AreAsLargeAsTheByteLimitAllows) {
  constexpr int64_t kRow = (1024 + 1024) * 4;  // Bytes that the product reads and writes for a row.
  EXPECT_EQ(SlicesOfProduct(4096, 1024, kRow * 4096), std::nullopt) << "the whole run fits";
  EXPECT_EQ(SlicesOfProduct(4096, 1024, kRow * 4095)->each, 2048);
  EXPECT_EQ(SlicesOfProduct(6000, 1024, kRow * 5999)->each, 3000) << "must divide the number of rows";
  EXPECT_EQ(SlicesOfProduct(4099, 1024, kRow * 4000), std::nullopt) << "a prime number of rows";
}

TEST(Slices, AreNotMadeIfARowHasLessThanOneByte) {
  const Graph graph = Fed({Op("x", "Placeholder", {}), Const(*Tensor::Make(DType::kFloat, {100})),
                           Op("n", "Mean", {{0, 0}, {1, 0}}), Op("y", "Relu", {{2, 0}})});
  graph::Types types = TypesOf(graph, 1000, {0});
  types.Set(2, {{DType::kFloat, Shape{20}, std::nullopt}});
  types.Set(3, {{DType::kFloat, Shape{20}, std::nullopt}});
  EXPECT_EQ(SlicesThatPay(graph, types, 100), std::nullopt) << "many rows share a byte";
}

TEST(Slices, AreNotMadeOfEmptyRows) {
  const Graph graph = Fed({Op("x", "Placeholder", {}), Op("y", "Relu", {{0, 0}})});
  EXPECT_EQ(SlicesOfOne(graph, TypesOf(graph, 5, {3})), (Slices{.rows = 5, .each = 1}));
  EXPECT_EQ(SlicesOfOne(graph, TypesOf(graph, 1'000'000'000, {0})), std::nullopt);
}

TEST(Slices, AreNotMadeIfTheyReadMoreWeightsThanTheyWrite) {
  constexpr int64_t kRow = (1024 + 1024) * 4;
  EXPECT_EQ(SlicesOfProduct(4096, 1024, kRow * 512)->each, 512) << "4 MB each";
  EXPECT_EQ(SlicesOfProduct(4096, 1024, kRow * 511), std::nullopt) << "writes less than 4 MB with weights of 4 MB";
}

}  // namespace
}  // namespace longshore::engine::cpu
