// Tests each pass on graphs that match its pattern and on similar graphs that do not.
#include "serving-node/graph/passes/passes.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "serving-node/graph/build.h"
#include "serving-node/graph/infer_types.h"
#include "serving-node/graph/passes/rewrite.h"
#include "serving-node/graph/testing.h"
#include "serving-node/tensor/proto.h"

namespace longshore::graph::passes {
namespace {

using tensor::DType;
using testing::Contains;
using testing::ElementsAre;
using testing::FloatEq;
using testing::Not;
using testing::Pointwise;

std::string Floats(const std::string& name, const tensor::Shape& shape, const std::string& values) {
  std::string dims;
  for (const int64_t size : shape) dims += fmt::format("dim {{ size: {} }} ", size);
  return fmt::format(R"(node {{ name: "{}" op: "Const" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
    attr {{ key: "value" value {{ tensor {{ dtype: DT_FLOAT tensor_shape {{ {}}} float_val: [{}] }} }} }} }})",
                     name, dims, values);
}

std::string Ints(const std::string& name, const tensor::Shape& shape, const std::string& values) {
  std::string text = Floats(name, shape, values);
  for (size_t at; (at = text.find("DT_FLOAT")) != std::string::npos;) text.replace(at, 8, "DT_INT32");
  return text.replace(text.find("float_val"), 9, "int_val");
}

std::string Input(const std::string& name) {
  return fmt::format(R"(node {{ name: "{}" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} }})",
                     name);
}

// A node; `attributes` are text-format "attr" fields.
std::string Op(const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
               const std::string& attributes = "") {
  std::string text = fmt::format(R"(node {{ name: "{}" op: "{}" )", name, op);
  for (const auto& input : inputs) text += fmt::format("input: \"{}\" ", input);
  return text + attributes + "}";
}

// Builds the graph. Its fed tensors are "x" and, if it exists, "r". Constants have values, as after constant folding.
Graph Read(const std::vector<std::string>& nodes, const std::vector<std::string>& outputs = {"y"}) {
  std::string text;
  for (const auto& node : nodes) text += node + "\n";
  tensorflow::GraphDef def;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &def)) << text;
  Wanted wanted{.feeds = {"x"}, .outputs = outputs, .targets = {}};
  if (text.find("name: \"r\"") != std::string::npos) wanted.feeds.emplace_back("r");
  auto graph = Build(def, wanted);
  EXPECT_TRUE(graph) << ToString(graph.error());
  for (Node& node : graph->nodes) {
    if (node.op == "Const") node.values = {*tensor::FromProto(node.attributes.Find("value")->tensor())};
  }
  return std::move(*graph);
}

// Returns the ops of all nodes that are not constants or inputs, each with the ops fused into it: "MatMul+BiasAdd".
std::vector<std::string> Ops(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes) {
    if (node.op == "Const" || node.op == "Placeholder") continue;
    ops.push_back(node.op);
    for (const Fused& fused : node.then) ops.back() += "+" + fused.op;
  }
  return ops;
}

const Node& Only(const Graph& graph, const std::string& op) {
  const auto found = std::ranges::find(graph.nodes, op, &Node::op);
  EXPECT_NE(found, graph.nodes.end()) << op;
  return *found;
}

std::vector<float> ConstFloats(const Graph& graph, const Edge& edge) {
  const auto values = graph.nodes[static_cast<size_t>(edge.node)].values.at(0).values<float>();
  return {values.begin(), values.end()};
}

// Evaluates Reshape, the only op whose value these tests need for their shapes.
std::optional<std::vector<tensor::Tensor>> Reshaped(const Node& node, std::span<const tensor::Tensor> inputs) {
  if (node.op != "Reshape") return std::nullopt;
  tensor::Shape shape;
  if (inputs[1].type() == DType::kInt64) {
    std::ranges::copy(inputs[1].values<int64_t>(), std::back_inserter(shape));
  } else {
    std::ranges::copy(inputs[1].values<int32_t>(), std::back_inserter(shape));
  }
  return std::vector<tensor::Tensor>{*inputs[0].Reshaped(shape)};
}

using Shapes = std::map<std::string, tensor::Shape>;
Types TypesFor(const Graph& graph, const Shapes& shapes, DType type = DType::kFloat) {
  std::map<std::string, Type> fed;
  for (const auto& [name, shape] : shapes) fed[name] = {type, shape, std::nullopt};
  return InferTypes(graph, {}, fed, Reshaped);
}

Graph FusedElementwise(const Graph& graph, const Shapes& shapes) {
  return FuseElementwise(graph, TypesFor(graph, shapes)).value_or(graph);
}

TEST(Identities, AreRemoved) {
  const Graph graph =
      Read({Input("x"), Op("Identity", "i", {"x"}), Op("StopGradient", "s", {"i"}), Op("Relu", "y", {"s"})});
  const Graph left = RemoveIdentities(graph);
  EXPECT_THAT(Ops(left), ElementsAre("Relu"));
  EXPECT_EQ(Only(left, "Relu").inputs[0].node, left.fed.at("x"));
}

std::vector<std::string> BatchNorm(const std::string& attributes, const std::string& op = "Conv2D") {
  return {Input("x"),
          Floats("w", {1, 1, 1, 2}, "1, 1"),
          Op(op, "image", {"x", "w"}),
          Floats("gamma", {2}, "2, 3"),
          Floats("beta", {2}, "10, 20"),
          Floats("mean", {2}, "1, 2"),
          Floats("variance", {2}, "3, 8"),
          Op("FusedBatchNormV3", "y", {"image", "gamma", "beta", "mean", "variance"},
             "attr { key: \"epsilon\" value { f: 1 } } " + attributes)};
}
constexpr char kInference[] = "attr { key: \"is_training\" value { b: false } }";

TEST(BatchNorms, BecomeAMultiplicationAndASum) {
  const Graph split = SplitBatchNorms(Read(BatchNorm(kInference)));
  EXPECT_THAT(Ops(split), ElementsAre("Conv2D", "Mul", "AddV2"));
  EXPECT_THAT(ConstFloats(split, Only(split, "Mul").inputs[1]), ElementsAre(FloatEq(1), FloatEq(1)));
  EXPECT_THAT(ConstFloats(split, Only(split, "AddV2").inputs[1]), ElementsAre(FloatEq(9), FloatEq(18)));
}

TEST(BatchNorms, StayForHalfPrecision) {
  const std::string half = std::string(kInference) + " attr { key: \"T\" value { type: DT_HALF } }";
  EXPECT_THAT(Ops(SplitBatchNorms(Read(BatchNorm(half)))), ElementsAre("Conv2D", "FusedBatchNormV3"));
}

TEST(BatchNorms, StayInTrainingAndIfTheirStatisticsAreRead) {
  EXPECT_THAT(Ops(SplitBatchNorms(Read(BatchNorm("")))), ElementsAre("Conv2D", "FusedBatchNormV3"));
  EXPECT_THAT(Ops(SplitBatchNorms(Read(BatchNorm(kInference), {"y", "y:1"}))),
              ElementsAre("Conv2D", "FusedBatchNormV3"));
}

// Clients may send any shape. FusedBatchNormV3 rejects [2] and [1,1,1,1], but a multiplication computes both.
TEST(BatchNorms, StayIfTheirInputMayHaveAnyShape) {
  EXPECT_THAT(Ops(SplitBatchNorms(Read(BatchNorm(kInference, "Mul")))), ElementsAre("Mul", "FusedBatchNormV3"));
}

std::vector<std::string> Scaled() {
  return {Input("x"),
          Floats("w", {2, 2}, "1, 2, 3, 4"),
          Floats("s", {2}, "10, 100"),
          Floats("b", {2}, "5, 6"),
          Op("MatMul", "p", {"x", "w"}),
          Op("Mul", "m", {"p", "s"}),
          Op("AddV2", "y", {"b", "m"})};
}

TEST(Scales, AreFusedIntoWeightsAndABias) {
  const Graph fused = FuseScales(Read(Scaled()));
  EXPECT_THAT(Ops(fused), ElementsAre("MatMul", "BiasAdd"));
  EXPECT_THAT(ConstFloats(fused, Only(fused, "MatMul").inputs[1]), ElementsAre(10, 200, 30, 400));
  EXPECT_THAT(ConstFloats(fused, Only(fused, "BiasAdd").inputs[1]), ElementsAre(5, 6));
}

TEST(Scales, StayIfAnotherNodeReadsTheProduct) {
  EXPECT_THAT(Ops(FuseScales(Read(Scaled(), {"y", "p"}))), ElementsAre("MatMul", "Mul", "AddV2"));
}

TEST(Scales, StayIfTheyHaveMoreAxesThanTheProduct) {
  const Graph graph = Read({Input("x"), Floats("w", {2, 2}, "1, 2, 3, 4"), Floats("b", {1, 1, 2}, "5, 6"),
                            Op("MatMul", "p", {"x", "w"}), Op("AddV2", "y", {"p", "b"})});
  EXPECT_THAT(Ops(FuseScales(graph)), ElementsAre("MatMul", "AddV2"));
}

std::vector<std::string> Padded(const std::string& sizes) {
  return {Input("x"), Ints("sizes", {4, 2}, sizes), Floats("w", {1, 1, 1, 1}, "2"), Op("Pad", "p", {"x", "sizes"}),
          Op("Conv2D", "y", {"p", "w"}, "attr { key: \"padding\" value { s: \"VALID\" } }")};
}

TEST(Pads, OfHeightAndWidthAreFusedIntoTheConvolution) {
  const Graph fused = FusePads(Read(Padded("0, 0, 1, 2, 3, 4, 0, 0")));
  EXPECT_THAT(Ops(fused), ElementsAre("Conv2D"));
  EXPECT_EQ(Only(fused, "Conv2D").attributes.Text("padding", ""), "EXPLICIT");
  EXPECT_THAT(Only(fused, "Conv2D").attributes.Ints("explicit_paddings"), ElementsAre(0, 0, 1, 2, 3, 4, 0, 0));
}

TEST(Pads, StayIfTheyPadChannels) {
  EXPECT_THAT(Ops(FusePads(Read(Padded("0, 0, 1, 1, 1, 1, 0, 1")))), ElementsAre("Pad", "Conv2D"));
}

std::vector<std::string> Layer() {
  return {Input("x"), Input("r"), Floats("w", {2, 2}, "1, 2, 3, 4"), Floats("b", {2}, "5, 6"),
          Op("MatMul", "p", {"x", "w"})};
}

std::vector<std::string> operator+(std::vector<std::string> nodes, const std::vector<std::string>& more) {
  nodes.insert(nodes.end(), more.begin(), more.end());
  return nodes;
}

TEST(Elementwise, FusesBiasResidualAndActivationIntoTheProduct) {
  const auto nodes = Layer() + std::vector<std::string>{Op("BiasAdd", "biased", {"p", "b"}),
                                                        Op("AddV2", "sum", {"r", "biased"}), Op("Relu", "y", {"sum"})};
  EXPECT_THAT(Ops(FusedElementwise(Read(nodes), {{"x", {3, 2}}, {"r", {3, 2}}})),
              ElementsAre("MatMul+BiasAdd+AddV2+Relu"));
}

TEST(Elementwise, DoesNotFuseAValueWithSeveralReaders) {
  const auto nodes =
      Layer() + std::vector<std::string>{Op("BiasAdd", "biased", {"p", "b"}), Op("Relu", "y", {"biased"})};
  EXPECT_THAT(Ops(FusedElementwise(Read(nodes, {"y", "biased"}), {{"x", {3, 2}}})),
              ElementsAre("MatMul+BiasAdd", "Relu"));
}

TEST(Elementwise, MovesABiasAndAnActivationBeforeAReshape) {
  const auto nodes =
      Layer() + std::vector<std::string>{Ints("sizes", {3}, "1, 3, 2"), Op("Reshape", "shaped", {"p", "sizes"}),
                                         Op("BiasAdd", "biased", {"shaped", "b"}), Op("Relu", "y", {"biased"})};
  const Graph fused = FusedElementwise(Read(nodes), {{"x", {3, 2}}});
  EXPECT_THAT(Ops(fused), ElementsAre("MatMul+BiasAdd+Relu", "Reshape"));
  EXPECT_EQ(fused.nodes[static_cast<size_t>(fused.outputs[0].node)].op, "Reshape");
}

// Keras writes the heads of an attention like this, with a residual added.
TEST(Elementwise, MovesABiasOfSeveralAxesAndAResidualBeforeAReshape) {
  const auto nodes =
      Layer() + std::vector<std::string>{Ints("sizes", {4}, "1, 3, 2, 1"), Op("Reshape", "shaped", {"p", "sizes"}),
                                         Floats("heads", {2, 1}, "7, 8"), Op("AddV2", "biased", {"shaped", "heads"}),
                                         Op("AddV2", "y", {"r", "biased"})};
  const Graph fused = FusedElementwise(Read(nodes), {{"x", {3, 2}}, {"r", {1, 3, 2, 1}}});
  EXPECT_THAT(Ops(fused), ElementsAre("Reshape", "Reshape", "MatMul+AddV2+AddV2", "Reshape"));
  EXPECT_EQ(fused.nodes[static_cast<size_t>(fused.outputs[0].node)].op, "Reshape");
  const Types types = TypesFor(fused, {{"x", {3, 2}}, {"r", {1, 3, 2, 1}}});
  EXPECT_THAT(*types.at(Only(fused, "MatMul").inputs[2]).shape, ElementsAre(2));
  EXPECT_THAT(*types.at(Only(fused, "MatMul").inputs[3]).shape, ElementsAre(3, 2));
}

TEST(Elementwise, DoesNotMoveAnOperandThatIsBroadcastOverOtherAxesBeforeAReshape) {
  const auto nodes = Layer() + std::vector<std::string>{
                                   Ints("sizes", {4}, "2, 3, 1, 2"), Op("Reshape", "shaped", {"p", "sizes"}),
                                   Floats("more", {3, 1, 2}, "1, 2, 3, 4, 5, 6"), Op("AddV2", "y", {"shaped", "more"})};
  EXPECT_THAT(Ops(FusedElementwise(Read(nodes), {{"x", {6, 2}}})), ElementsAre("MatMul", "Reshape", "AddV2"));
}

TEST(Elementwise, DoesNotMoveABiasThatEnlargesTheResultBeforeAReshape) {
  const auto nodes =
      Layer() + std::vector<std::string>{Ints("sizes", {2}, "6, 1"), Op("Reshape", "shaped", {"p", "sizes"}),
                                         Op("AddV2", "y", {"shaped", "b"})};
  EXPECT_THAT(Ops(FusedElementwise(Read(nodes), {{"x", {3, 2}}})), ElementsAre("MatMul", "Reshape", "AddV2"));
}

// With the format NCHW, the channel axis of the result is not the column axis of the product, although both have two
// elements.
TEST(Elementwise, DoesNotMoveABiasOfOtherChannelsBeforeAReshape) {
  const auto nodes =
      Layer() + std::vector<std::string>{
                    Ints("sizes", {4}, "1, 2, 3, 1"), Op("Reshape", "shaped", {"p", "sizes"}),
                    Op("BiasAdd", "y", {"shaped", "b"}, "attr { key: \"data_format\" value { s: \"NCHW\" } }")};
  EXPECT_THAT(Ops(FusedElementwise(Read(nodes), {{"x", {3, 2}}})), ElementsAre("MatMul", "Reshape", "BiasAdd"));
}

TEST(Elementwise, FusesAChainIntoOneNode) {
  const Graph graph = Read({Input("x"), Input("r"), Op("Sub", "d", {"x", "r"}), Op("Square", "s", {"d"}),
                            Op("Mul", "m", {"r", "s"}), Op("Tanh", "y", {"m"})});
  EXPECT_THAT(Ops(FusedElementwise(graph, {{"x", {4, 8}}, {"r", {8}}})), ElementsAre("Sub+Square+Mul+Tanh"));
}

// Div and Inv are older names of RealDiv and Reciprocal.
TEST(Elementwise, FusesOpsUnderTheirOlderNames) {
  const Graph graph = Read({Input("x"), Input("r"), Op("Div", "d", {"x", "r"}), Op("Inv", "y", {"d"})});
  EXPECT_THAT(Ops(FusedElementwise(graph, {{"x", {4, 8}}, {"r", {8}}})), ElementsAre("Div+Inv"));
}

// x * sigmoid(beta * x) as tf.nn.silu writes it.
std::vector<std::string> SiluOf(const std::string& beta, const tensor::Shape& shape = {}) {
  return {Input("x"), Floats("beta", shape, beta), Op("Mul", "b", {"beta", "x"}), Op("Sigmoid", "s", {"b"}),
          Op("Mul", "y", {"x", "s"})};
}

std::vector<std::string> OpsWithSilus(const std::vector<std::string>& nodes,
                                      const std::vector<std::string>& outputs = {"y"}, DType type = DType::kFloat) {
  const Graph graph = Read(nodes, outputs);
  return Ops(FuseSilus(graph, TypesFor(graph, {{"x", {3, 4}}}, type)).value_or(graph));
}

TEST(Silus, AreFusedInEachWrittenForm) {
  EXPECT_THAT(OpsWithSilus(SiluOf("1")), ElementsAre("Silu"));
  EXPECT_THAT(OpsWithSilus({Input("x"), Op("Sigmoid", "s", {"x"}), Op("Mul", "y", {"s", "x"})}), ElementsAre("Silu"));
}

TEST(Silus, StayIfAnotherNodeReadsAPart) {
  EXPECT_THAT(OpsWithSilus(SiluOf("1"), {"y", "s"}), ElementsAre("Mul", "Sigmoid", "Mul"));
  EXPECT_THAT(OpsWithSilus(SiluOf("1"), {"y", "b"}), ElementsAre("Mul", "Sigmoid", "Mul"));
}

TEST(Silus, StayForOtherFactorsTypesOrShapes) {
  EXPECT_THAT(OpsWithSilus(SiluOf("1.5")), ElementsAre("Mul", "Sigmoid", "Mul"));
  EXPECT_THAT(OpsWithSilus(SiluOf("1", {1, 1, 1})), ElementsAre("Mul", "Sigmoid", "Mul"))
      << "the result has one more axis";
  EXPECT_THAT(OpsWithSilus(SiluOf("1"), {"y"}, DType::kHalf), ElementsAre("Mul", "Sigmoid", "Mul"));
}

TEST(Silus, StayIfTheSigmoidHasAnotherArgument) {
  EXPECT_THAT(OpsWithSilus({Input("x"), Op("Neg", "n", {"x"}), Op("Sigmoid", "s", {"n"}), Op("Mul", "y", {"s", "x"})}),
              ElementsAre("Neg", "Sigmoid", "Mul"));
}

// x * 0.5 * (1 + erf(x / sqrt 2)), with the factors in another order.
std::vector<std::string> GeluOfErf(const tensor::Shape& half = {}) {
  return {Input("x"),
          Floats("half", half, "0.5"),
          Floats("root", {}, "1.41421356"),
          Floats("one", {}, "1"),
          Op("RealDiv", "d", {"x", "root"}),
          Op("Erf", "e", {"d"}),
          Op("AddV2", "s", {"one", "e"}),
          Op("Mul", "h", {"half", "s"}),
          Op("Mul", "y", {"x", "h"})};
}

std::vector<std::string> GeluOfErfc() {
  return {Input("x"),
          Floats("half", {}, "0.5"),
          Floats("root", {}, "0.70710678"),
          Op("Neg", "n", {"x"}),
          Op("Mul", "d", {"n", "root"}),
          Op("Erfc", "e", {"d"}),
          Op("Mul", "h", {"half", "x"}),
          Op("Mul", "y", {"h", "e"})};
}

std::vector<std::string> GeluOfTanh(const std::string& power = "3") {
  return {Input("x"),
          Floats("half", {}, "0.5"),
          Floats("one", {}, "1"),
          Floats("three", {}, power),
          Floats("c", {}, "0.044715"),
          Floats("root", {}, "0.79788456"),
          Op("Pow", "p", {"x", "three"}),
          Op("Mul", "q", {"c", "p"}),
          Op("AddV2", "w", {"x", "q"}),
          Op("Mul", "v", {"root", "w"}),
          Op("Tanh", "t", {"v"}),
          Op("AddV2", "s", {"one", "t"}),
          Op("Mul", "h", {"half", "x"}),
          Op("Mul", "y", {"h", "s"})};
}

std::vector<std::string> OpsWithGelus(const std::vector<std::string>& nodes,
                                      const std::vector<std::string>& outputs = {"y"}, DType type = DType::kFloat) {
  const Graph graph = Read(nodes, outputs);
  return Ops(FuseGelus(graph, TypesFor(graph, {{"x", {3, 4}}}, type)).value_or(graph));
}

TEST(Gelus, AreFusedInEachWrittenForm) {
  EXPECT_THAT(OpsWithGelus(GeluOfErf()), ElementsAre("Gelu"));
  EXPECT_THAT(OpsWithGelus(GeluOfErfc()), ElementsAre("Gelu"));
  EXPECT_THAT(OpsWithGelus(GeluOfTanh()), ElementsAre("GeluTanh"));
}

TEST(Gelus, StayIfAnotherNodeReadsAPart) {
  EXPECT_THAT(OpsWithGelus(GeluOfErf(), {"y", "s"}), ElementsAre("RealDiv", "Erf", "AddV2", "Mul", "Mul"));
  EXPECT_THAT(OpsWithGelus(GeluOfErfc(), {"y", "h"}), ElementsAre("Neg", "Mul", "Erfc", "Mul", "Mul"));
  auto nodes = GeluOfErf();
  nodes.push_back(Op("Relu", "other", {"e"}));
  EXPECT_THAT(OpsWithGelus(nodes, {"y", "other"}), ElementsAre("RealDiv", "Erf", "AddV2", "Mul", "Mul", "Relu"));
}

TEST(Gelus, StayForOtherNumbersTypesOrShapes) {
  EXPECT_THAT(OpsWithGelus(GeluOfTanh("2")), Not(Contains("GeluTanh")));
  EXPECT_THAT(OpsWithGelus(GeluOfErf({1, 1, 1})), Not(Contains("Gelu"))) << "the result has one more axis";
  EXPECT_THAT(OpsWithGelus(GeluOfErf(), {"y"}, DType::kHalf), Not(Contains("Gelu")));
}

TEST(Gelus, StayIfTheFactorIsAnotherValue) {
  auto nodes = GeluOfErf();
  nodes.back() = Op("Mul", "y", {"r", "h"});
  nodes.push_back(Input("r"));
  EXPECT_THAT(OpsWithGelus(nodes), Not(Contains("Gelu")));
}

constexpr char kKeep[] = "attr { key: \"keep_dims\" value { b: true } }";

std::vector<std::string> Statistics(const std::string& axis = "-1", const std::string& attributes = kKeep) {
  return {Input("x"),
          Ints("axis", {1}, axis),
          Floats("epsilon", {}, "0.001"),
          Floats("gamma", {4}, "1, 2, 3, 4"),
          Floats("beta", {4}, "5, 6, 7, 8"),
          Op("Mean", "mean", {"x", "axis"}, attributes),
          Op("SquaredDifference", "squares", {"x", "mean"}),
          Op("Mean", "variance", {"squares", "axis"}, attributes),
          Op("AddV2", "sum", {"variance", "epsilon"}),
          Op("Rsqrt", "factor", {"sum"})};
}

// The nodes of a layer normalisation as written by Keras 3 (OfKeras), by tf.nn.batch_normalization, which Keras 2 calls
// (OfTf), and by hand (ByHand).
std::vector<std::string> OfKeras() {
  return {Op("Mul", "slope", {"factor", "gamma"}), Op("Neg", "n", {"mean"}),       Op("Mul", "m", {"n", "slope"}),
          Op("AddV2", "shift", {"m", "beta"}),     Op("Mul", "s", {"x", "slope"}), Op("AddV2", "y", {"s", "shift"})};
}
std::vector<std::string> OfTf() {
  return {Op("Mul", "slope", {"factor", "gamma"}), Op("Mul", "s", {"x", "slope"}), Op("Mul", "m", {"mean", "slope"}),
          Op("Sub", "shift", {"beta", "m"}), Op("AddV2", "y", {"s", "shift"})};
}
std::vector<std::string> ByHand() {
  return {Op("Sub", "less", {"x", "mean"}), Op("Mul", "z", {"less", "factor"}), Op("Mul", "s", {"gamma", "z"}),
          Op("AddV2", "y", {"s", "beta"})};
}

std::vector<std::string> OpsWithLayerNorms(const std::vector<std::string>& nodes,
                                           const std::vector<std::string>& outputs = {"y"},
                                           const tensor::Shape& x = {3, 4}) {
  const Graph graph = Read(nodes, outputs);
  return Ops(FuseLayerNorms(graph, TypesFor(graph, {{"x", x}})).value_or(graph));
}

TEST(LayerNorms, AreFusedInEachWrittenForm) {
  for (const auto& written : {OfKeras(), OfTf(), ByHand()}) {
    for (const char* axis : {"-1", "1"}) {
      const Graph graph = Read(Statistics(axis) + written);
      const Graph fused = FuseLayerNorms(graph, TypesFor(graph, {{"x", {3, 4}}})).value_or(graph);
      ASSERT_THAT(Ops(fused), ElementsAre("LayerNorm"));
      const Node& node = Only(fused, "LayerNorm");
      EXPECT_EQ(node.inputs[0].node, fused.fed.at("x"));
      EXPECT_THAT(ConstFloats(fused, node.inputs[1]), ElementsAre(1, 2, 3, 4));
      EXPECT_THAT(ConstFloats(fused, node.inputs[2]), ElementsAre(5, 6, 7, 8));
      EXPECT_FLOAT_EQ(node.attributes.Float("epsilon", 0), 0.001F);
    }
  }
}

TEST(LayerNorms, GetGammaOneAndBetaZeroIfTheyHaveNone) {
  const Graph graph = Read(Statistics() + ByHand(), {"z"});
  const Graph fused = FuseLayerNorms(graph, TypesFor(graph, {{"x", {3, 4}}})).value_or(graph);
  ASSERT_THAT(Ops(fused), ElementsAre("LayerNorm"));
  EXPECT_THAT(ConstFloats(fused, Only(fused, "LayerNorm").inputs[1]), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(ConstFloats(fused, Only(fused, "LayerNorm").inputs[2]), ElementsAre(0, 0, 0, 0));
}

TEST(LayerNorms, StayIfAnotherNodeReadsAPart) {
  for (const char* part : {"mean", "variance", "factor", "slope", "shift"})
    EXPECT_THAT(OpsWithLayerNorms(Statistics() + OfKeras(), {"y", part}), Not(Contains("LayerNorm"))) << part;
  const auto read = Statistics() + ByHand() + std::vector<std::string>{Op("Relu", "other", {"less"})};
  EXPECT_THAT(OpsWithLayerNorms(read, {"y", "other"}), Not(Contains("LayerNorm")));
}

TEST(LayerNorms, StayForOtherAxesOrShapes) {
  EXPECT_THAT(OpsWithLayerNorms(Statistics("0") + OfKeras(), {"y"}, {4, 4}), Not(Contains("LayerNorm")));
  EXPECT_THAT(OpsWithLayerNorms(Statistics("-1", "") + OfKeras(), {"y"}, {4, 4}), Not(Contains("LayerNorm")));
  EXPECT_THAT(OpsWithLayerNorms(Statistics() + OfKeras(), {"y"}, {3, 1}), Not(Contains("LayerNorm")))
      << "the result has more columns";
}

TEST(LayerNorms, StayIfTheMeanIsOfAnotherValue) {
  auto nodes = Statistics() + OfTf();
  nodes[5] = Op("Mean", "mean", {"r", "axis"}, kKeep);
  nodes.push_back(Input("r"));
  const Graph graph = Read(nodes);
  EXPECT_THAT(Ops(FuseLayerNorms(graph, TypesFor(graph, {{"x", {3, 4}}, {"r", {3, 4}}})).value_or(graph)),
              Not(Contains("LayerNorm")));
}

// An attention with scores x of shape [2, 3, 4, 4] and a mask r.
std::vector<std::string> Attention(const std::string& scale, const std::string& mask, const std::string& second) {
  return {Input("x"),
          Input("r"),
          Floats("number", {}, "4"),
          Floats("masked", {}, "-1e9"),
          Op(scale, "scaled", {"x", "number"}),
          mask == "SelectV2" ? Op(mask, "s", {"r", "scaled", second}) : Op(mask, "s", {"scaled", second}),
          Op("Softmax", "y", {"s"})};
}

Graph WithAttentions(const Graph& graph, const tensor::Shape& mask, DType type) {
  const Types types = InferTypes(
      graph, {}, {{"x", {DType::kFloat, tensor::Shape{2, 3, 4, 4}, std::nullopt}}, {"r", {type, mask, std::nullopt}}},
      Reshaped);
  return FuseAttentions(graph, types).value_or(graph);
}

TEST(Attentions, AreFusedWithEachKindOfMask) {
  const Graph selected = WithAttentions(Read(Attention("RealDiv", "SelectV2", "masked")), {2, 1, 1, 4}, DType::kBool);
  EXPECT_THAT(Ops(selected), ElementsAre("AttentionWeights"));
  const Node& node = Only(selected, "AttentionWeights");
  EXPECT_EQ(node.attributes.Float("scale", 0), 0.25F);
  EXPECT_EQ(node.attributes.Float("masked", 0), -1e9F);
  const Graph added = WithAttentions(Read(Attention("Mul", "AddV2", "r")), {2, 1, 4, 4}, DType::kFloat);
  EXPECT_THAT(Ops(added), ElementsAre("AttentionWeights"));
  EXPECT_EQ(Only(added, "AttentionWeights").attributes.Float("scale", 0), 4);
}

// Keras combines the given mask with a mask of its own, which is true everywhere.
TEST(Attentions, IgnoreASecondMaskThatIsTrueEverywhere) {
  for (const char* own : {"true, true, true, true", "true, true, false, true"}) {
    std::string text = Floats("own", {4}, own);
    for (size_t at; (at = text.find("DT_FLOAT")) != std::string::npos;) text.replace(at, 8, "DT_BOOL");
    text.replace(text.find("float_val"), 9, "bool_val");
    auto nodes = Attention("Mul", "SelectV2", "masked");
    nodes.push_back(text);
    nodes.push_back(Op("LogicalAnd", "both", {"own", "r"}));
    for (std::string& node : nodes) {
      if (const size_t at = node.find("input: \"r\" input: \"scaled\""); at != std::string::npos)
        node.replace(at, 10, "input: \"both\"");
    }
    const Graph fused = WithAttentions(Read(nodes), {2, 1, 1, 4}, DType::kBool);
    const bool is_true = std::string_view(own).find("false") == std::string_view::npos;
    using Strings = std::vector<std::string>;
    EXPECT_EQ(Ops(fused), is_true ? Strings{"AttentionWeights"} : Strings({"LogicalAnd", "AttentionWeights"}));
  }
}

TEST(Attentions, KeepADivisionIfTheReciprocalIsNotANormalFloat) {
  for (const char* number : {"1e-39", "0", "2e38"}) {
    auto nodes = Attention("RealDiv", "SelectV2", "masked");
    nodes[2] = Floats("number", {}, number);
    EXPECT_THAT(Ops(WithAttentions(Read(nodes), {2, 1, 1, 4}, DType::kBool)),
                ElementsAre("RealDiv", "AttentionWeights"));
  }
}

TEST(Attentions, StayForOtherMasksOrScales) {
  const auto ops = [](const std::vector<std::string>& nodes, const tensor::Shape& mask, DType type) {
    return Ops(WithAttentions(Read(nodes), mask, type));
  };
  EXPECT_THAT(ops(Attention("Mul", "AddV2", "r"), {4}, DType::kFloat), ElementsAre("Mul", "AddV2", "Softmax"))
      << "a bias";
  EXPECT_THAT(ops(Attention("Mul", "AddV2", "r"), {2, 3, 4, 4}, DType::kFloat), ElementsAre("Mul", "AddV2", "Softmax"))
      << "a residual";
  EXPECT_THAT(ops(Attention("Mul", "SelectV2", "masked"), {2, 1, 4, 1}, DType::kBool),
              ElementsAre("Mul", "SelectV2", "Softmax"));
  EXPECT_THAT(ops(Attention("Mul", "SelectV2", "masked"), {5, 1, 1, 1, 1}, DType::kBool),
              ElementsAre("Mul", "SelectV2", "Softmax"));
  EXPECT_THAT(ops(Attention("Mul", "SelectV2", "x"), {2, 1, 1, 4}, DType::kBool),
              ElementsAre("Mul", "SelectV2", "Softmax"));
  auto nodes = Attention("Mul", "SelectV2", "masked");
  EXPECT_THAT(Ops(WithAttentions(Read(nodes, {"y", "s"}), {2, 1, 1, 4}, DType::kBool)),
              ElementsAre("Mul", "SelectV2", "Softmax"));
  EXPECT_THAT(Ops(WithAttentions(Read(nodes, {"y", "scaled"}), {2, 1, 1, 4}, DType::kBool)),
              ElementsAre("Mul", "AttentionWeights"));
}

TEST(Known, ValuesBecomeConstantsWithoutInputs) {
  const Graph graph =
      Read({Input("x"), Ints("sizes", {2}, "2, 6"), Floats("c", {3, 4}, "1,2,3,4,5,6,7,8,9,10,11,12"),
            Op("Reshape", "shaped", {"c", "sizes"}), Op("Relu", "z", {"x"}), Op("AddV2", "y", {"z", "shaped"})});
  const auto filled = FillInKnown(graph, TypesFor(graph, {{"x", {2, 6}}}));
  ASSERT_TRUE(filled);
  EXPECT_THAT(Ops(*filled), ElementsAre("Known", "Relu", "AddV2"));
  EXPECT_EQ(filled->nodes.size(), 4U) << "x, the known value, Relu, AddV2";
  EXPECT_FALSE(FillInKnown(*filled, TypesFor(*filled, {{"x", {2, 6}}})));
}

// If a node reads an output that does not exist, the pass leaves it to the run to report the error.
TEST(Known, ValuesStayIfAMissingOutputIsRead) {
  const auto evaluate = [](const Node& node, std::span<const tensor::Tensor> inputs) {
    return node.op == "ShapeN" ? std::optional(std::vector<tensor::Tensor>{inputs[0]}) : std::nullopt;
  };
  const std::string count = "attr { key: \"N\" value { i: 3 } }";
  for (const char* read : {"s:0", "s:2"}) {
    const Graph graph =
        Read({Input("x"), Floats("c", {2}, "1, 2"), Op("ShapeN", "s", {"c"}, count), Op("AddV2", "y", {"x", read})});
    const Types types = InferTypes(graph, {}, {{"x", {DType::kFloat, tensor::Shape{2}, std::nullopt}}}, evaluate);
    EXPECT_EQ(FillInKnown(graph, types).has_value(), std::string_view(read) == "s:0") << read;
  }
}

TEST(Known, ValuesOfNodesWithAnEffectStay) {
  Graph graph = Read({Input("x"), Ints("sizes", {2}, "2, 6"), Floats("c", {3, 4}, "1,2,3,4,5,6,7,8,9,10,11,12"),
                      Op("Reshape", "y", {"c", "sizes"})});
  const Types types = TypesFor(graph, {{"x", {2, 6}}});
  const auto filled = FillInKnown(graph, types);
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->nodes[static_cast<size_t>(filled->outputs[0].node)].op, kKnown) << "an output of the graph";
  graph.nodes.back().has_effect = true;
  EXPECT_FALSE(FillInKnown(graph, types));
}

TEST(Repeats, OfPureFunctionsBecomeOneNode) {
  const Graph graph = Read({Input("x"), Ints("first", {}, "1"), Ints("second", {}, "1"),
                            Op("ExpandDims", "a", {"x", "first"}), Op("ExpandDims", "b", {"x", "second"}),
                            Op("Cos", "c", {"a"}), Op("Cos", "d", {"b"}), Op("AddV2", "y", {"c", "d"})});
  const Graph merged = MergeRepeats(graph);
  EXPECT_THAT(Ops(merged), ElementsAre("ExpandDims", "Cos", "AddV2"));
  const Node& sum = Only(merged, "AddV2");
  EXPECT_EQ(sum.inputs[0], sum.inputs[1]);
}

TEST(Repeats, StayIfInputsAttributesOrOpsDiffer) {
  const std::string axis = "attr { key: \"axis\" value { i: 1 } }";
  const std::vector<std::string> ops = {"ExpandDims", "ExpandDims", "ExpandDims", "Pack", "Pack", "Relu", "Relu"};
  const Graph graph = Read(
      {Input("x"), Ints("one", {}, "1"), Ints("two", {}, "2"), Ints("row", {1}, "1"),
       Op("ExpandDims", "a", {"x", "one"}), Op("ExpandDims", "b", {"x", "two"}), Op("ExpandDims", "c", {"x", "row"}),
       Op("Pack", "d", {"x"}), Op("Pack", "e", {"x"}, axis), Op("Relu", "f", {"x"}), Op("Relu", "g", {"x"})},
      {"a", "b", "c", "d", "e", "f", "g"});
  EXPECT_EQ(Ops(MergeRepeats(graph)), ops);
}

// The tensor of a handle has no bytes to compare, so two handles are never taken as equal.
TEST(Repeats, StayIfTheyReadHandles) {
  Graph graph = Read({Input("x"), Ints("sizes", {1}, "1"), Floats("a", {}, "1"), Floats("b", {}, "1"),
                      Op("Reshape", "first", {"a", "sizes"}), Op("Reshape", "second", {"b", "sizes"}),
                      Op("AddV2", "y", {"first", "second"})});
  EXPECT_THAT(Ops(MergeRepeats(graph)), ElementsAre("Reshape", "AddV2"));
  for (Node& node : graph.nodes) {
    if (node.name == "a" || node.name == "b")
      node.values = {tensor::Tensor::Wrap(DType::kResource, {}, nullptr, nullptr)};
  }
  EXPECT_THAT(Ops(MergeRepeats(graph)), ElementsAre("Reshape", "Reshape", "AddV2"));
}

// Comparing each node with every other one would take quadratic time.
TEST(Repeats, OfNodesThatDifferInAttributesAreFoundInLinearTime) {
  std::vector<std::string> nodes = {Input("x")};
  std::vector<std::string> outputs;
  for (int i = 0; i < 20'000; ++i) {
    outputs.push_back(fmt::format("y{}", i));
    nodes.push_back(Op("Cos", outputs.back(), {"x"}, fmt::format("attr {{ key: \"n\" value {{ i: {} }} }}", i)));
  }
  EXPECT_EQ(MergeRepeats(Read(nodes, outputs)).nodes.size(), 20'001U);
}

TEST(Repeats, StayAvailableAsOutputsUnderEachOfTheirNames) {
  const Graph merged = MergeRepeats(Read({Input("x"), Op("Cos", "a", {"x"}), Op("Cos", "b", {"x"})}, {"a", "b"}));
  EXPECT_THAT(Ops(merged), ElementsAre("Cos"));
  EXPECT_EQ(merged.outputs.at(0), merged.outputs.at(1));
}

TEST(Invariants, BecomeConstantsOfTheBodies) {
  const Graph fused = FoldInvariants(LoopOf(1));
  for (const int body : fused.nodes.back().bodies) {
    const Graph& made = fused.bodies[static_cast<size_t>(body)];
    ASSERT_NE(ConstOf(made, made.nodes.back().inputs[1]), nullptr);
    EXPECT_EQ(made.nodes.back().inputs[0].node, made.arguments[0]);
  }
  const Graph& step = fused.bodies[static_cast<size_t>(fused.nodes.back().bodies[1])];
  EXPECT_EQ(step.outputs[1].node, step.arguments[1]) << "the step still passes its argument on";
  EXPECT_TRUE(fused.bodies[0].nodes.empty()) << "the original body is unused";
}

TEST(Invariants, DoNotIncludeArgumentsThatAStepChanges) {
  const Graph fused = FoldInvariants(LoopOf(0));
  EXPECT_THAT(fused.nodes.back().bodies, ElementsAre(0, 1));
}

TEST(Invariants, LeaveBodiesThatCallThemselvesUnchanged) {
  Graph loop = LoopOf(1);
  loop.bodies[1].nodes[2].op = "If";
  loop.bodies[1].nodes[2].bodies = {1, 1};
  EXPECT_THAT(FoldInvariants(loop).nodes.back().bodies, ElementsAre(0, 1));
}

TEST(Names, ListsEveryPass) {
  EXPECT_THAT(Names(), ElementsAre("identities", "repeats", "invariants", "batch_norms", "scales", "pads", "known",
                                   "gelus", "silus", "layer_norms", "attentions", "elementwise", "slices", "parts"));
}

}  // namespace
}  // namespace longshore::graph::passes
