// Compares compiled programs with the reference plan, on random graphs and whole models.
#include "serving-node/engine/cpu/compiled.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "serving-node/engine/cpu/cpu.h"
#include "serving-node/engine/cpu/steps/loops.h"
#include "serving-node/engine/cpu/testing.h"
#include "serving-node/engine/host/host.h"
#include "serving-node/engine/interpreter/plan.h"
#include "serving-node/graph/build.h"
#include "serving-node/graph/passes/passes.h"
#include "tests/seeds/seeds.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::engine::cpu {
namespace {

TEST(Loops, ALongSumIsAsExactAsAShortOne) {
  EXPECT_NEAR(SumOf(std::vector<float>(1'000'000, 0.1F).data(), 1'000'000), 100'000.0F, 0.1F);
  EXPECT_EQ(SumOf(std::vector<float>(1030, 1.0F).data(), 1030), 1030.0F);
}

TEST(Loops, TheMaximumIsFoundAtEveryPosition) {
  std::vector<float> numbers(37, -5.0F);
  for (size_t at = 0; at < numbers.size(); ++at) {
    numbers[at] = -2.0F;
    EXPECT_EQ(MaxOf(numbers.data(), 37), -2.0F);
    numbers[at] = std::nanf("");
    EXPECT_TRUE(std::isnan(MaxOf(numbers.data(), 37)));
    numbers[at] = -5.0F;
  }
  numbers.assign(3, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(MaxOf(numbers.data(), 3), numbers[0]);
}

TEST(Loops, TheSumOfALongColumnIsExact) {
  std::vector<float> sums(3);
  SumColumns(std::vector<float>(3'000'000, 0.1F).data(), 1'000'000, 3, 0.5F, sums.data());
  for (const float sum : sums) EXPECT_NEAR(sum, 50'000.0F, 0.05F);
}

// The plan of a graph in text format, with these feeds and outputs.
interpreter::Plan PlanOf(const std::string& text, const graph::Wanted& wanted, Resources& resources) {
  tensorflow::GraphDef def;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &def));
  auto graph = graph::Build(def, wanted);
  EXPECT_TRUE(graph) << ToString(graph.error());
  auto plan = interpreter::Plan::Make(std::move(*graph), {.fold = true, .fold_variables = true}, resources);
  EXPECT_TRUE(plan) << ToString(plan.error());
  return std::move(*plan);
}

// MatMul, BiasAdd and the activation become one step, which must keep the NaN in the second row of x, [2, 3]. Relu is
// not tested, because oneDNN turns NaN to zero there, in TensorFlow too.
TEST(Compiled, FusedOpsKeepNan) {
  for (const char* activation : {"Elu", "LeakyRelu", "Sigmoid", "Tanh"}) {
    Resources resources;
    const auto plan = PlanOf(fmt::format(R"(
      node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} }}
      node {{ name: "w" op: "Const" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
        attr {{ key: "value" value {{ tensor {{ dtype: DT_FLOAT tensor_shape {{ dim {{ size: 3 }} dim {{ size: 2 }} }}
          float_val: [1, 2, 3, 4, 5, 6] }} }} }} }}
      node {{ name: "b" op: "Const" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
        attr {{ key: "value" value {{ tensor {{ dtype: DT_FLOAT tensor_shape {{ dim {{ size: 2 }} }}
          float_val: [1, -1] }} }} }} }}
      node {{ name: "product" op: "MatMul" input: "x" input: "w" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }}
      node {{ name: "biased" op: "BiasAdd" input: "product" input: "b" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }}
      node {{ name: "y" op: "{}" input: "biased" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }})",
                                         activation),
                             {.feeds = {"x"}, .outputs = {"y"}, .targets = {}}, resources);
    const Compiled compiled(plan.ToGraph(), ExecutionOptions(), std::make_shared<RunMemory>(),
                            std::make_shared<Weights>());
    const auto nan = std::numeric_limits<float>::quiet_NaN();
    const auto answer = compiled.Run({{"x", Tensor::Of<float>({2, 3}, {1, 1, 1, 1, nan, 1})}}, {}, resources, SIZE_MAX);
    ASSERT_TRUE(answer) << ToString(answer.error());
    const auto values = (*answer)[0].values<float>();
    EXPECT_TRUE(std::isfinite(values[0]) && std::isfinite(values[1])) << activation;
    EXPECT_TRUE(std::isnan(values[2]) && std::isnan(values[3])) << activation;
  }
}

// Expects the graph to become a single step with this op, and to have the same result as the reference plan.
void ExpectOneStep(const std::string& graph, const std::map<std::string, Tensor>& fed, const std::string& op) {
  graph::Wanted wanted{.feeds = {}, .outputs = {"y"}, .targets = {}};
  for (const auto& [name, value] : fed) wanted.feeds.push_back(name);
  Resources resources;
  const auto plan = PlanOf(graph, wanted, resources);
  const Compiled compiled(plan.ToGraph(), ExecutionOptions(), std::make_shared<RunMemory>(),
                          std::make_shared<Weights>());
  const auto steps = compiled.Explain(fed, {}, resources).steps;
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].op, op);
  const auto plain = plan.Run(fed, {}, resources);
  const auto given = compiled.Run(fed, {}, resources, SIZE_MAX);
  ASSERT_TRUE(plain && given) << ToString(given.error());
  EXPECT_TRUE(IsNear((*given)[0], (*plain)[0])) << op;
}

// Node y reads an output of s that does not exist, although type inference knows the shapes of the outputs of s that
// exist.
TEST(Compiled, RejectsAReadOfAMissingOutput) {
  Resources resources;
  const auto plan = PlanOf(
      Fed("x") + Node("s", "ShapeN", {"x"}, "attr { key: \"N\" value { i: 3 } }") + Node("y", "Fill", {"s:2", "x"}),
      {.feeds = {"x"}, .outputs = {"y"}, .targets = {}}, resources);
  const Compiled compiled(plan.ToGraph(), ExecutionOptions(), std::make_shared<RunMemory>(),
                          std::make_shared<Weights>());
  EXPECT_FALSE(compiled.Run({{"x", Tensor::Of<float>({2}, {1, 2})}}, {}, resources, SIZE_MAX));
}

// Numbers from -12 to 12, and zeros, infinities, NaN, and very small and large numbers.
Tensor ManyNumbers() {
  const float infinite = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.0F, -0.0F, 1e-30F, 1e30F, -1e30F, infinite, -infinite, std::nanf("")};
  for (int i = -12'000; i < 12'000; ++i) x.push_back(static_cast<float>(i) / 1000.0F);
  return Tensor::Of<float>({static_cast<int64_t>(x.size()) / 8, 8}, x);
}

// The nodes of y = GELU(x) with Erfc, without x.
std::string GeluOf(const std::string& x) {
  return FloatConst("half", "0.5") + FloatConst("root", "0.70710678") + Node("n", "Neg", {x}) +
         Node("d", "Mul", {"n", "root"}) + Node("e", "Erfc", {"d"}) + Node("h", "Mul", {"half", x}) +
         Node("y", "Mul", {"h", "e"});
}

// The nodes of y = GELU(x) with Tanh, without x.
std::string GeluTanhOf(const std::string& x) {
  return FloatConst("half", "0.5") + FloatConst("one", "1") + FloatConst("three", "3") + FloatConst("c", "0.044715") +
         FloatConst("root", "0.79788456") + Node("p", "Pow", {x, "three"}) + Node("q", "Mul", {"c", "p"}) +
         Node("w", "AddV2", {x, "q"}) + Node("v", "Mul", {"root", "w"}) + Node("t", "Tanh", {"v"}) +
         Node("s", "AddV2", {"one", "t"}) + Node("h", "Mul", {"half", x}) + Node("y", "Mul", {"h", "s"});
}

TEST(Compiled, AGeluIsOneStep) {
  ExpectOneStep(Fed("x") + GeluOf("x"), {{"x", ManyNumbers()}}, "Gelu");
  ExpectOneStep(Fed("x") + GeluTanhOf("x"), {{"x", ManyNumbers()}}, "GeluTanh");
}

TEST(Compiled, ASiluIsOneStep) {
  ExpectOneStep(Fed("x") + FloatConst("one", "1") + Node("b", "Mul", {"one", "x"}) + Node("s", "Sigmoid", {"b"}) +
                    Node("y", "Mul", {"x", "s"}),
                {{"x", ManyNumbers()}}, "Silu");
}

// BiasAdd runs as a loop, or as a reference kernel if its channels are in axis 1. Silu and Gelu have no kernel, so a
// loop computes them in both cases.
TEST(Compiled, ASiluOrAGeluIsFusedIntoTheStepBeforeIt) {
  for (const std::string& after :
       {Node("s", "Sigmoid", {"b"}) + Node("y", "Mul", {"b", "s"}), GeluOf("b"), GeluTanhOf("b")}) {
    for (const char* format : {"NCHW", "NHWC"}) {
      const auto attribute = fmt::format(R"(attr {{ key: "data_format" value {{ s: "{}" }} }})", format);
      ExpectOneStep(Fed("x") + Fed("bias") + Node("b", "BiasAdd", {"x", "bias"}, attribute) + after,
                    {{"x", Tensor::Of<float>({1, 2, 1, 2}, {1, -2, 3, -4})}, {"bias", Tensor::Of<float>({2}, {-1, 7})}},
                    "BiasAdd");
    }
  }
}

// The normalisation of images. Operands are rows of three numbers, which are too short for a fast loop, an array of two
// axes, or a scalar.
TEST(Compiled, ShortRowsThatAreBroadcastToALargeValueAreOneStep) {
  auto image = Tensor::Make(DType::kFloat, {2, 450, 7, 3});
  for (float next = 0; float& x : image->mutable_values<float>()) x = std::fmod(next += 7.3F, 255.0F);
  std::vector<float> row(7 * 3);
  std::iota(row.begin(), row.end(), 1.0F);
  const auto short_row = Tensor::Of<float>({3}, {2, -3, 5});
  const std::string nodes = Fed("x") + Fed("mean") + Fed("deviation") + FloatConst("scale", "0.5") +
                            Node("s", "Mul", {"scale", "x"}) + Node("m", "Sub", {"s", "mean"}) +
                            Node("y", "RealDiv", {"m", "deviation"});
  ExpectOneStep(nodes, {{"x", *image}, {"mean", short_row}, {"deviation", short_row}}, "Mul");
  ExpectOneStep(nodes, {{"x", *image}, {"mean", short_row}, {"deviation", Tensor::Of<float>({7, 3}, row)}}, "Mul");
  ExpectOneStep(nodes, {{"x", *image}, {"mean", Tensor::Of<float>({1, 1}, {9})}, {"deviation", short_row}}, "Mul");
}

// The nodes of a Keras layer normalisation over `width` numbers.
std::string LayerNormOf(int64_t width) {
  const auto row = [&](const std::string& name, float first) {
    std::string values;
    for (int64_t i = 0; i < width; ++i) values += fmt::format(" float_val: {}", first + static_cast<float>(i) / 10);
    return fmt::format(R"(node {{ name: "{}" op: "Const" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
      attr {{ key: "value" value {{ tensor {{ dtype: DT_FLOAT tensor_shape {{ dim {{ size: {} }} }} {} }} }} }} }})",
                       name, width, values);
  };
  const std::string keep = "attr { key: \"keep_dims\" value { b: true } }";
  return Fed("x") + row("gamma", 1) + row("beta", -2) + FloatConst("epsilon", "1e-5") +
         R"(node { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
              attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: -1 } } } })" +
         Node("mean", "Mean", {"x", "axis"}, keep) + Node("squares", "SquaredDifference", {"x", "mean"}) +
         Node("variance", "Mean", {"squares", "axis"}, keep) + Node("sum", "AddV2", {"variance", "epsilon"}) +
         Node("factor", "Rsqrt", {"sum"}) + Node("slope", "Mul", {"factor", "gamma"}) + Node("n", "Neg", {"mean"}) +
         Node("m", "Mul", {"n", "slope"}) + Node("shift", "AddV2", {"m", "beta"}) + Node("s", "Mul", {"x", "slope"}) +
         Node("y", "AddV2", {"s", "shift"});
}

TEST(Compiled, ALayerNormIsOneStep) {
  for (const int64_t width : {1, 7, 16, 100, 2051}) {
    std::vector<float> x(static_cast<size_t>(width) * 12);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) / 8.0F + 3.0F;
    x[x.size() - 1] = std::nanf("");
    x[x.size() - static_cast<size_t>(width) - 1] = std::numeric_limits<float>::infinity();
    std::fill_n(x.begin(), width, 2.5F);
    ExpectOneStep(LayerNormOf(width), {{"x", Tensor::Of<float>({3, 4, width}, x)}}, "LayerNorm");
  }
}

TEST(Compiled, AttentionWeightsAreOneStep) {
  std::mt19937 random(seeds::First());
  const auto fed = [&](DType type, const Shape& shape) {
    auto value = Tensor::Make(type, shape);
    if (type == DType::kBool) {
      for (bool& x : value->mutable_values<bool>()) x = random() % 3 != 0;
    } else {
      for (float& x : value->mutable_values<float>()) x = static_cast<float>(random() % 2000) / 100.0F - 10.0F;
    }
    return *value;
  };
  const std::string placeholder = Node("mask", "Placeholder", {}, "attr { key: \"dtype\" value { type: DT_BOOL } }");
  const std::string masked = FloatConst("number", "-0.3") + FloatConst("masked", "-1e9") +
                             Node("m", "Mul", {"x", "number"}) + Node("s", "SelectV2", {"mask", "m", "masked"}) +
                             Node("y", "Softmax", {"s"});
  const std::string added = FloatConst("number", "3") + Node("m", "RealDiv", {"x", "number"}) +
                            Node("s", "AddV2", {"mask", "m"}) + Node("y", "Softmax", {"s"});
  for (const int64_t width : {2, 7, 16, 65, 600}) {  // 600 is enough work for two threads.
    Tensor x = fed(DType::kFloat, {2, 3, 5, width});
    x.mutable_values<float>()[0] = std::nanf("");
    x.mutable_values<float>()[static_cast<size_t>(width)] = -std::numeric_limits<float>::infinity();
    for (const Shape& mask : {Shape{2, 3, 5, width}, Shape{2, 1, 5, width}, Shape{2, 1, 1, width}, Shape{width},
                              Shape{1, 1, 5, width}, Shape{2, 3, 5, 1}, Shape{}, Shape{1, 1}}) {
      ExpectOneStep(Fed("x") + placeholder + masked, {{"x", x}, {"mask", fed(DType::kBool, mask)}}, "AttentionWeights");
      if (mask.size() < 2 || mask == x.shape()) continue;
      ExpectOneStep(Fed("x") + Fed("mask") + added, {{"x", x}, {"mask", fed(DType::kFloat, mask)}}, "AttentionWeights");
    }
  }
}

// A kernel may return the memory of its input, as Reshape does if the shape is known only in the run, or keep it in a
// list of tensors. The arena reuses this memory for later values and runs, so such tensors must be copies.
TEST(Compiled, AKernelThatKeepsItsInputsGetsCopies) {
  Resources resources;
  const auto plan =
      PlanOf(R"(
      node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
      node { name: "shape" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
      node { name: "each" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
        attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 2 } } } }
      node { name: "doubled" op: "AddV2" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "shaped" op: "Reshape" input: "doubled" input: "shape" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "list" op: "TensorListFromTensor" input: "doubled" input: "each"
        attr { key: "element_dtype" value { type: DT_FLOAT } } attr { key: "shape_type" value { type: DT_INT32 } } }
      node { name: "squared" op: "Square" input: "x" input: "^list" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "next" op: "Exp" input: "squared" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "stacked" op: "TensorListStack" input: "list" input: "each" input: "^next"
        attr { key: "element_dtype" value { type: DT_FLOAT } } })",
             {.feeds = {"x", "shape"}, .outputs = {"shaped", "stacked", "next"}, .targets = {}}, resources);
  const Compiled compiled(plan.ToGraph(), ExecutionOptions(), std::make_shared<RunMemory>(),
                          std::make_shared<Weights>());
  const auto run = [&](float first) {
    return compiled.Run({{"x", Tensor::Of<float>({2, 2}, {first, 2, 3, 4})}, {"shape", Tensor::Of<int32_t>({1}, {4})}},
                        {}, resources, SIZE_MAX);
  };
  const auto one = run(1), other = run(5);
  ASSERT_TRUE(one && other) << ToString(one.error());
  EXPECT_THAT((*one)[0].values<float>(), testing::ElementsAre(2, 4, 6, 8));
  EXPECT_THAT((*one)[1].values<float>(), testing::ElementsAre(2, 4, 6, 8));
  EXPECT_THAT((*other)[1].values<float>(), testing::ElementsAre(10, 4, 6, 8));
}

// The outputs of a run are not copied. So other outputs and steps, which may read them under other shapes, use the same
// memory, and the next run must use other memory. The kernel of Tile makes its output itself, Relu writes into one.
TEST(Compiled, OutputsMayBeReadByStepsAndByOtherOutputs) {
  Resources resources;
  const auto plan = PlanOf(
      R"(
      node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
      node { name: "two" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
        attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 2 } } } }
      node { name: "square" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
        attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 2 } } } }
      node { name: "tiled" op: "Tile" input: "x" input: "two" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "matrix" op: "Reshape" input: "tiled" input: "square" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "positive" op: "Relu" input: "matrix" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "doubled" op: "AddV2" input: "positive" input: "positive" attr { key: "T" value { type: DT_FLOAT } } })",
      {.feeds = {"x"}, .outputs = {"matrix", "tiled", "positive", "doubled", "tiled"}, .targets = {}}, resources);
  const Compiled compiled(plan.ToGraph(), ExecutionOptions(), std::make_shared<RunMemory>(),
                          std::make_shared<Weights>());
  const auto run = [&](float first) {
    return compiled.Run({{"x", Tensor::Of<float>({2}, {first, 3})}}, {}, resources, SIZE_MAX);
  };
  const auto one = run(-1), other = run(5);
  ASSERT_TRUE(one && other) << ToString(one.error());
  EXPECT_EQ((*one)[0].shape(), (Shape{2, 2}));
  EXPECT_EQ((*one)[1].shape(), Shape{4});
  for (const size_t tiled : {0, 1, 4}) EXPECT_THAT((*one)[tiled].values<float>(), testing::ElementsAre(-1, 3, -1, 3));
  EXPECT_THAT((*one)[2].values<float>(), testing::ElementsAre(0, 3, 0, 3));
  EXPECT_THAT((*one)[3].values<float>(), testing::ElementsAre(0, 6, 0, 6));
  EXPECT_THAT((*other)[3].values<float>(), testing::ElementsAre(10, 6, 10, 6));
  EXPECT_EQ((*one)[0].data(), (*one)[1].data());
}

// Values that depend only on shapes are computed before a run unless they are too large. The memory limit of a run
// holds for these values, for the arena, and for values whose shape is known only in the run. A run whose known shapes
// need more is refused before its first step.
TEST(Compiled, AllValuesCountAgainstTheMemoryLimitOfARun) {
  constexpr char kGraph[] = R"(
      node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
      node { name: "sizes" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
      node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
        attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
      node { name: "shape" op: "Shape" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "of_shape" op: "Fill" input: "shape" input: "one" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "of_value" op: "Fill" input: "sizes" input: "one" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "both" op: "AddV2" input: "of_value" input: "of_value" attr { key: "T" value { type: DT_FLOAT } } })";
  constexpr size_t kLimit = size_t{1} << 20;
  Resources resources;
  const auto plan =
      PlanOf(kGraph, {.feeds = {"x", "sizes"}, .outputs = {"of_shape", "both"}, .targets = {}}, resources);
  const Compiled compiled(plan.ToGraph(), ExecutionOptions(), std::make_shared<RunMemory>(),
                          std::make_shared<Weights>());
  const auto run = [&](int64_t by_shape, int32_t by_value) {
    const Tensor x = Tensor::Of<float>({by_shape}, std::vector<float>(static_cast<size_t>(by_shape)));
    const auto answer =
        compiled.Run({{"x", x}, {"sizes", Tensor::Of<int32_t>({1}, {by_value})}}, {}, resources, kLimit);
    return answer ? "" : ToString(answer.error());
  };
  EXPECT_EQ(run(1000, 1000), "");
  EXPECT_EQ(run(1000, 120'000), "");  // The run holds two tensors of this size at once.
  EXPECT_THAT(run(1000, 140'000), testing::HasSubstr("op \"AddV2\" (node \"both\")"));
  EXPECT_THAT(run(1000, 300'000), testing::HasSubstr("op \"Fill\" (node \"of_value\")"));
  EXPECT_THAT(run(300'000, 1000), testing::HasSubstr("a run of these shapes needs 1200000 bytes"));
}

class RandomGraph {
 public:
  // A graph of element-wise nodes over [2, 3, 8] and over shapes that broadcast to it. Each node reads earlier nodes;
  // two nodes are outputs.
  static RandomGraph OfElements(uint64_t seed) {
    RandomGraph graph(seed);
    for (const Shape& shape : {Shape{2, 3, 8}, Shape{8}, Shape{2, 3, 1}, Shape{}, Shape{1, 1, 8}, Shape{2, 1, 8}})
      graph.Feed(shape);
    for (int i = 0; i < 12; ++i) graph.Grow();
    graph.wanted.outputs = {Name(graph.names_ - 1), Name(graph.names_ - 3)};
    return graph;
  }

  // A graph of dense layers, as Keras makes them, over the last axis of [1 or 2, 1 or 2, 8]: a product, a Reshape, and
  // element-wise ops, whose operands are broadcast in many ways or are the layer's own input.
  static RandomGraph OfLayers(uint64_t seed) {
    RandomGraph graph(seed);
    const int64_t batch = 1 + graph.random_() % 2, rows = 1 + graph.random_() % 2;
    const Shape heads = graph.random_() % 2 == 0 ? Shape{batch, rows, 8} : Shape{batch, rows, 2, 4};
    Shape numbers = heads;  // The shape of one number for each row.
    numbers.back() = 1;
    for (const Shape& shape : {Shape{batch * rows, 8}, Shape{8, 8}, heads, Shape{heads.back()}, numbers, Shape{},
                               Shape(heads.end() - 2, heads.end()), Shape(heads.begin() + 2, heads.end())})
      graph.Feed(shape);
    std::string layer = Name(0), beside = Name(2);
    for (int i = 0; i < 2; ++i) {
      const std::string product = graph.Apply("MatMul", {layer, Name(1)});
      const std::string shaped = graph.Reshaped(product, heads);
      const std::string done = graph.Finish(shaped, beside);
      beside = shaped;
      layer = graph.Reshaped(done, {batch * rows, 8});
    }
    graph.wanted.outputs = {layer, beside};
    if (seed % 2 == 0) graph.wanted.outputs.pop_back();
    return graph;
  }

  // A graph of ops over [6, 3, 4]. In some graphs the six rows are independent, in others they are not.
  static RandomGraph OfRows(uint64_t seed) {
    RandomGraph graph(seed);
    std::vector<Shaped> values;
    for (const Shape& shape : {Shape{6, 3, 4}, Shape{6, 3, 4}, Shape{}}) {
      values.push_back({Name(graph.names_), shape});
      graph.Feed(shape);
    }
    for (int i = 0; i < 6; ++i) graph.GrowRows(values);
    graph.wanted.outputs = {values.back().name};
    return graph;
  }

  tensorflow::GraphDef def;
  graph::Wanted wanted;
  std::map<std::string, Tensor> fed;

 private:
  struct Shaped {
    std::string name;
    Shape shape;
  };

  // Adds an op that reads one of the last two values. If the chosen value is a scalar, the op reads values[0] instead.
  void GrowRows(std::vector<Shaped>& values) {
    Shaped from = values[values.size() - 1 - random_() % 2];
    if (from.shape.empty()) from = values[0];
    const auto rank = std::ssize(from.shape);
    // Chooses the first axis rarely: otherwise the rows of nearly no graph would be independent.
    const int64_t axis = random_() % 5 == 0 ? 0 : static_cast<int64_t>(random_()) % rank;
    const int64_t said = random_() % 2 == 0 ? axis : axis - rank;
    Shape shape = from.shape;
    const auto last = [&] { return def.mutable_node(def.node_size() - 1); };
    switch (random_() % 9) {
      case 0: return values.push_back({Apply("Tanh", {from.name}), shape});
      case 1: return values.push_back({Apply("AddV2", {Name(2), from.name}), shape});
      case 2: {  // Multiplies by a number for each index of the axis, or for each element.
        const bool of_all = random_() % 2 == 0;
        Shape factors(of_all ? shape : Shape(shape.size(), 1));
        factors[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)];
        return values.push_back({Apply("Mul", {from.name, Floats(factors)}), shape});
      }
      case 3: {
        const std::string made = Apply(random_() % 2 == 0 ? "Mean" : "Max", {from.name, Ints({said})});
        const bool keeps = random_() % 2 == 0;
        (*last()->mutable_attr())["keep_dims"].set_b(keeps);
        if (keeps) {
          shape[static_cast<size_t>(axis)] = 1;
        } else {
          shape.erase(shape.begin() + axis);
        }
        return values.push_back({made, shape});
      }
      case 4: {
        if (random_() % 3 == 0) std::ranges::shuffle(shape, random_);
        if (rank > 1 && random_() % 2 == 0) {
          shape[shape.size() - 2] *= shape.back();
          shape.pop_back();
        }
        std::vector<int64_t> sizes = shape;
        if (random_() % 2 == 0) sizes[0] = -1;
        return values.push_back({Apply("Reshape", {from.name, Ints(sizes)}), shape});
      }
      case 5: {
        std::vector<int64_t> order(shape.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin() + (random_() % 3 == 0 ? 0 : 1), order.end(), random_);
        for (size_t i = 0; i < order.size(); ++i) shape[i] = from.shape[static_cast<size_t>(order[i])];
        return values.push_back({Apply("Transpose", {from.name, Ints(order)}), shape});
      }
      case 6: {
        if (rank < 2) return;
        // The Tanh keeps the terms of the sums small. Products of products would have large terms, and a small element
        // of the result could be their difference.
        const std::string factor = Apply("Tanh", {from.name});
        const std::string made = Apply("BatchMatMulV2", {factor, factor});
        (*last()->mutable_attr())["adj_y"].set_b(true);
        shape.back() = shape[shape.size() - 2];
        return values.push_back({made, shape});
      }
      case 7: {
        shape[static_cast<size_t>(axis)] *= 2;
        return values.push_back({Apply("ConcatV2", {from.name, from.name, Ints({said}, {})}), shape});
      }
      default: return values.push_back({Apply("Softmax", {from.name}), shape});
    }
  }

  std::string Ints(const std::vector<int64_t>& values, std::optional<Shape> shape = std::nullopt) {
    const Shape of = shape.value_or(Shape{std::ssize(values)});
    return Constant(Tensor::Of<int64_t>(of, values));
  }

  std::string Floats(const Shape& shape) {
    auto value = Tensor::Make(DType::kFloat, shape);
    for (float& x : value->mutable_values<float>()) x = static_cast<float>(random_() % 100) / 50.0F - 1.0F;
    return Constant(*value);
  }

  std::string Constant(const Tensor& value) {
    auto* node = Add("Const");
    (*node->mutable_attr())["dtype"].set_type(static_cast<tensorflow::DataType>(value.type()));
    auto* tensor = (*node->mutable_attr())["value"].mutable_tensor();
    tensor->set_dtype(static_cast<tensorflow::DataType>(value.type()));
    for (const int64_t size : value.shape()) tensor->mutable_tensor_shape()->add_dim()->set_size(size);
    tensor->set_tensor_content(std::string(reinterpret_cast<const char*>(value.data()), value.bytes()));
    return node->name();
  }

  explicit RandomGraph(uint64_t seed) : random_(seed) {}

  static std::string Name(size_t i) { return fmt::format("n{}", i); }

  tensorflow::NodeDef* Add(const std::string& op) {
    auto* node = def.add_node();
    node->set_name(Name(names_++));
    node->set_op(op);
    (*node->mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
    return node;
  }

  void Feed(const Shape& shape) {
    auto* node = Add("Placeholder");
    (*node->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
    auto value = Tensor::Make(DType::kFloat, shape);
    for (float& x : value->mutable_values<float>()) x = static_cast<float>(random_() % 2000) / 500.0F - 2.0F;
    wanted.feeds.push_back(node->name());
    fed[node->name()] = *value;
  }

  void Grow() {
    static constexpr const char* kOfOne[] = {"Relu", "Tanh", "Sigmoid", "Square", "Neg", "Abs", "Erf", "Relu6"};
    static constexpr const char* kOfTwo[] = {"AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference"};
    const bool of_one = random_() % 3 == 0;
    const size_t reach = std::min<size_t>(names_, 7);
    const std::string first = Name(names_ - 1 - random_() % reach), second = Name(random_() % names_);
    if (of_one && random_() % 6 == 0) {
      Silu(first);
      return;
    }
    auto* node = Add(of_one ? kOfOne[random_() % 8] : kOfTwo[random_() % 6]);
    node->add_input(first);
    if (!of_one) node->add_input(second);
  }

  std::string Apply(const std::string& op, const std::vector<std::string>& inputs) {
    auto* node = Add(op);
    for (const std::string& input : inputs) node->add_input(input);
    return node->name();
  }

  std::string Silu(const std::string& x) { return Apply("Mul", {x, Apply("Sigmoid", {x})}); }

  std::string Reshaped(const std::string& value, const Shape& shape) { return Apply("Reshape", {value, Ints(shape)}); }

  // Adds a few ops after a layer. `beside`: another operand of the same shape.
  std::string Finish(std::string value, const std::string& beside) {
    static constexpr const char* kOfOne[] = {"Relu", "Tanh", "Sigmoid", "Elu"};
    static constexpr const char* kOfTwo[] = {"AddV2", "Add", "Sub", "Mul"};
    for (size_t i = 1 + random_() % 4; i > 0; --i) {
      const size_t kind = random_() % 9;
      const std::string other = kind == 7 ? beside : Name(2 + random_() % 6);
      if (kind == 0) value = Apply(kOfOne[random_() % 4], {value});
      if (kind == 1) value = Apply("BiasAdd", {value, Name(3)});
      if (kind == 8) value = Silu(value);
      if (kind < 2 || kind == 8) continue;
      const char* op = kOfTwo[kind == 2 ? random_() % 4 : 0];
      value = random_() % 2 == 0 ? Apply(op, {value, other}) : Apply(op, {other, value});
    }
    return value;
  }

  std::mt19937 random_;
  size_t names_ = 0;
};

class Random : public testing::TestWithParam<RandomGraph (*)(uint64_t seed)> {};

TEST_P(Random, GraphsHaveTheSameResultsAsTheReferencePlan) {
  constexpr uint64_t kGraphs = 300;
  const uint64_t first = seeds::First(kGraphs);
  for (uint64_t seed = first; seed < first + kGraphs; ++seed) {
    const RandomGraph random = GetParam()(seed);
    auto graph = graph::Build(random.def, random.wanted);
    ASSERT_TRUE(graph) << ToString(graph.error());
    Resources resources;
    const auto plan = interpreter::Plan::Make(std::move(*graph), {}, resources);
    const auto wanted = plan->Run(random.fed, {}, resources);
    const auto given =
        Compiled(plan->ToGraph(), ExecutionOptions(), std::make_shared<RunMemory>(), std::make_shared<Weights>())
            .Run(random.fed, {}, resources, SIZE_MAX);
    ASSERT_TRUE(wanted && given) << seed;
    for (size_t i = 0; i < wanted->size(); ++i) {
      ASSERT_TRUE(IsNear((*given)[i], (*wanted)[i])) << "seed " << seed << " " << random.def.DebugString();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Compiled, Random, testing::Values(&RandomGraph::OfElements, &RandomGraph::OfLayers));

// Covers slices of one, two and three rows.
TEST(Compiled, IndependentRowsAreComputedInSlicesWithTheSameResult) {
  std::map<int64_t, int> sliced;  // Key: rows of a slice, 0 if not sliced. Value: number of graphs.
  constexpr uint64_t kGraphs = 1500;
  const uint64_t first = seeds::First(kGraphs);
  for (uint64_t seed = first; seed < first + kGraphs; ++seed) {
    const RandomGraph random = RandomGraph::OfRows(seed);
    auto graph = graph::Build(random.def, random.wanted);
    ASSERT_TRUE(graph) << ToString(graph.error());
    Resources resources;
    const auto plan = interpreter::Plan::Make(std::move(*graph), {}, resources);
    const auto wanted = plan->Run(random.fed, {}, resources);
    const Compiled compiled(plan->ToGraph(), ExecutionOptions{.slice_bytes = 1 + 60 * static_cast<int64_t>(seed % 10)},
                            std::make_shared<RunMemory>(), std::make_shared<Weights>());
    const auto given = compiled.Run(random.fed, {}, resources, SIZE_MAX);
    const auto whole = Compiled(plan->ToGraph(), ExecutionOptions{.slice_bytes = 0}, std::make_shared<RunMemory>(),
                                std::make_shared<Weights>())
                           .Run(random.fed, {}, resources, SIZE_MAX);
    ASSERT_TRUE(wanted && given && whole) << seed << random.def.DebugString();
    ASSERT_TRUE(IsNear((*given)[0], (*whole)[0], 1e-6F)) << "seed " << seed << " " << random.def.DebugString();
    ASSERT_TRUE(IsNear((*given)[0], (*wanted)[0])) << "seed " << seed << " " << random.def.DebugString();
    ++sliced[compiled.Explain(random.fed, {}, resources).rows_at_once];
  }
  for (const int64_t rows : {0, 1, 2, 3}) EXPECT_GT(sliced[rows], 10) << rows;
}

std::string NameOf(const Result<std::optional<interpreter::Origin>>& found) {
  if (!found) return ToString(found.error());
  return *found ? fmt::format("{} {} {}", (*found)->output, (*found)->maker.node, (*found)->maker.op) : "finite";
}

// The inputs have numbers whose squares are infinite; some inputs have an infinity themselves.
TEST(Compiled, FindsTheSameOriginOfAnInfinityAsThePlan) {
  std::set<std::string> ops;
  constexpr uint64_t kGraphs = 300;
  const uint64_t first = seeds::First(kGraphs);
  for (uint64_t seed = first; seed < first + kGraphs; ++seed) {
    RandomGraph random = RandomGraph::OfElements(seed);
    random.fed.at("n4").mutable_values<float>().back() =
        seed % 10 == 0 ? std::numeric_limits<float>::infinity() : 1e30F;
    auto graph = graph::Build(random.def, random.wanted);
    ASSERT_TRUE(graph) << ToString(graph.error());
    Resources resources;
    const auto plan = interpreter::Plan::Make(std::move(*graph), {}, resources);
    const Compiled compiled(plan->ToGraph(), ExecutionOptions(), std::make_shared<RunMemory>(),
                            std::make_shared<Weights>());
    const std::string wanted = NameOf(plan->FindNonFinite(random.fed, resources, SIZE_MAX));
    EXPECT_EQ(NameOf(compiled.FindNonFinite(random.fed, resources, SIZE_MAX)), wanted) << random.def.DebugString();
    ops.insert(wanted.substr(wanted.rfind(' ') + 1));
  }
  EXPECT_THAT(ops, testing::IsSupersetOf({"finite", "Placeholder", "Square"}));
}

std::shared_ptr<LoadedModel> Load(Engine& engine, const std::string& model) {
  auto loaded = engine.Load(source_tree::Root() / "tests" / "models" / model, {});
  EXPECT_TRUE(loaded) << ToString(loaded.error());
  return loaded.value_or(nullptr);
}

RunRequest Images(int64_t count) {
  std::vector<float> pixels(static_cast<size_t>(count) * 64);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i * 37 % 17) / 16.0F;
  return {.signature = "serving_default",
          .inputs = {{"image", Tensor::Of<float>({count, 8, 8, 1}, pixels)}},
          .outputs = {}};
}

// Runs with all passes, and with each of them switched off: results must not depend on a pass.
class WithoutPass : public testing::TestWithParam<std::string> {};

TEST_P(WithoutPass, AnswersLikeTheReferenceEngine) {
  const auto cpu = MakeEngine({.runs = 1, .passes_off = {GetParam()}});
  const auto plain = host::MakeEngine({.threads = 1});
  for (const char* version : {"digits/1", "digits/2", "digits/5"}) {
    const auto fast = Load(*cpu, version), slow = Load(*plain, version);
    for (const int64_t batch : {1, 8, 3}) {
      const auto given = RunAndWait(*fast, Images(batch)), wanted = RunAndWait(*slow, Images(batch));
      ASSERT_TRUE(given && wanted) << ToString(given.error());
      const auto a = given->at("probabilities").values<float>(), b = wanted->at("probabilities").values<float>();
      for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << version << " at " << i;
      const auto labels = given->at("label").values<int64_t>(), right = wanted->at("label").values<int64_t>();
      EXPECT_TRUE(std::ranges::equal(labels, right));
    }
  }
}

std::vector<std::string> NoneAndEachPass() {
  std::vector<std::string> names = graph::passes::Names();
  names.emplace_back("none");
  return names;
}
INSTANTIATE_TEST_SUITE_P(CpuEngine, WithoutPass, testing::ValuesIn(NoneAndEachPass()),
                         [](const auto& pass) { return pass.param; });

// Moves the tenth image of a batch to other positions.
TEST(CpuEngine, ARowHasTheSameBitsWithOtherNeighboursAndAtOtherPositions) {
  const auto engine = MakeEngine({.runs = 1, .threads_per_run = 2});
  const auto model = Load(*engine, "digits/2");
  RunRequest all = Images(32);
  const auto whole = RunAndWait(*model, all);
  ASSERT_TRUE(whole);
  for (const size_t place : {0U, 1U, 7U, 31U}) {
    RunRequest moved = Images(32);
    auto pixels = moved.inputs.at("image").mutable_values<float>();
    std::ranges::fill(pixels, 0.25F);
    const auto image = all.inputs.at("image").values<float>().subspan(10 * 64, 64);
    std::ranges::copy(image, pixels.begin() + static_cast<std::ptrdiff_t>(place * 64));
    const auto answer = RunAndWait(*model, moved);
    ASSERT_TRUE(answer);
    const auto given = answer->at("probabilities").values<float>().subspan(place * 10, 10);
    EXPECT_TRUE(std::ranges::equal(given, whole->at("probabilities").values<float>().subspan(100, 10))) << place;
  }
}

}  // namespace
}  // namespace longshore::engine::cpu
