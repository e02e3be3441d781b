// Compares runs of graphs whose shapes are known only in the run with the reference plan, and tests how they are cut.
#include "serving-node/engine/cpu/cut.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <random>

#include "serving-node/engine/cpu/compiled.h"
#include "serving-node/engine/cpu/evaluate.h"
#include "serving-node/engine/cpu/testing.h"
#include "serving-node/engine/interpreter/plan.h"
#include "serving-node/graph/build.h"
#include "serving-node/graph/infer_types.h"
#include "tests/seeds/seeds.h"

namespace longshore::engine::cpu {
namespace {

using testing::ElementsAre;

// A node with the values of `of`, whose shape is known only in the run: it is the value of the fed tensor "sizes".
std::string Hidden(const std::string& name, const std::string& of) { return Node(name, "Reshape", {of, "sizes"}); }

class Case {
 public:
  Case(const std::string& nodes, graph::Wanted wanted) {
    tensorflow::GraphDef def;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(nodes, &def));
    auto graph = graph::Build(def, wanted);
    EXPECT_TRUE(graph) << ToString(graph.error());
    plan_.emplace(*interpreter::Plan::Make(std::move(*graph), {.fold = true, .fold_variables = false}, resources_));
    graph_ = plan_->ToGraph();
    compiled_.emplace(graph_, ExecutionOptions(), std::make_shared<RunMemory>(), std::make_shared<Weights>());
  }

  using Fed = std::map<std::string, Tensor>;
  std::optional<Cut> CutFor(const Fed& fed) {
    std::map<std::string, graph::Type> types;
    for (const auto& [name, value] : fed) types[name] = {value.type(), value.shape(), std::nullopt};
    return CutWhereShapesEnd(graph_, graph::InferTypes(graph_, {}, types, EvaluateByKernels(resources_, 1 << 20)));
  }
  Result<std::vector<Tensor>> ByPlan(const Fed& fed) { return plan_->Run(fed, {}, resources_); }
  Result<std::vector<Tensor>> Run(const Fed& fed, size_t bytes_max = SIZE_MAX) {
    return compiled_->Run(fed, {}, resources_, bytes_max);
  }
  RunProfile Profiled(const Fed& fed) {
    RunProfile profile;
    profile.began = std::chrono::steady_clock::now();
    EXPECT_TRUE(compiled_->Profile(fed, {}, resources_, SIZE_MAX, &profile));
    return profile;
  }
  std::vector<PlanStep> Steps(const Fed& fed) { return compiled_->Explain(fed, {}, resources_).steps; }

 private:
  Resources resources_;
  std::optional<interpreter::Plan> plan_;
  graph::Graph graph_;
  std::optional<Compiled> compiled_;
};

// The names of the nodes that compute something.
std::vector<std::string> NamesIn(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes) {
    if (node.op != "Placeholder" && node.values.empty()) names.push_back(node.name);
  }
  return names;
}

Tensor Row(std::vector<float> values) {
  const auto size = std::ssize(values);
  return Tensor::Of<float>({1, size}, std::move(values));
}

std::map<std::string, Tensor> FedWith(const Tensor& x, std::vector<int32_t> sizes) {
  const auto rank = std::ssize(sizes);
  return {{"x", x}, {"sizes", Tensor::Of<int32_t>({rank}, std::move(sizes))}};
}

const graph::Wanted kOfY = {.feeds = {"x", "sizes"}, .outputs = {"y"}, .targets = {}};

TEST(Cut, IsBeforeTheFirstSumWithUnknownShapes) {
  Case of(Fed("x") + Fed("sizes", "DT_INT32") + Node("a", "Tanh", {"x"}) + Hidden("b", "a") + Hidden("c", "b") +
              Node("d", "Softmax", {"c"}) + Hidden("e", "d") + Node("y", "AddV2", {"e", "a"}),
          kOfY);
  const auto cut = of.CutFor(FedWith(Row({1, 2}), {2, 1}));
  ASSERT_TRUE(cut);
  EXPECT_THAT(NamesIn(cut->head), ElementsAre("a", "b", "c"));
  EXPECT_THAT(NamesIn(cut->tail), ElementsAre("d", "e", "y"));
  EXPECT_THAT(cut->crossing, ElementsAre("c:0", "a:0"));
  EXPECT_THAT(cut->outputs, ElementsAre(2));
}

TEST(Cut, IsNotMadeIfAllShapesAreKnown) {
  Case of(Fed("x") + Node("y", "Tanh", {"x"}), {.feeds = {"x"}, .outputs = {"y"}, .targets = {}});
  EXPECT_FALSE(of.CutFor({{"x", Row({1, 2})}}));
}

TEST(Cut, IsNotMadeForOpsThatOnlyHaveAKernel) {
  Case of(Fed("x") + Fed("sizes", "DT_INT32") + Hidden("a", "x") + Node("y", "Cos", {"a"}), kOfY);
  EXPECT_FALSE(of.CutFor(FedWith(Row({1, 2}), {2, 1})));
}

// decode_jpeg -> scale -> resize -> network: the resized image has a known size, so the network needs no cut.
TEST(Cut, IsNotMadeBeforeElementWiseNodesThatLeadToNoSum) {
  Case of(Fed("x") + Fed("sizes", "DT_INT32") + Hidden("a", "x") + Node("b", "Mul", {"a", "a"}) +
              Node("shape", "Shape", {"x"}) + Node("c", "Reshape", {"b", "shape"}) + Node("y", "Softmax", {"c"}),
          kOfY);
  EXPECT_FALSE(of.CutFor(FedWith(Row({1, 2}), {2, 1})));
}

// The tail reads x, which the graph is fed, a constant, a shape that is known before the run, and a result of the head.
TEST(Cut, CopiesConstantsAndFeedsOtherValues) {
  Case of(Fed("x") + Fed("sizes", "DT_INT32") + FloatConst("two", "2") + Node("shape", "Shape", {"x"}) +
              Hidden("a", "x") + Node("b", "Mul", {"a", "two"}) + Node("m", "Softmax", {"b"}) +
              Node("n", "SquaredDifference", {"m", "b"}) + Node("c", "Reshape", {"n", "shape"}) +
              Node("y", "AddV2", {"c", "x"}),
          {.feeds = {"x", "sizes"}, .outputs = {"x", "y", "a", "two"}, .targets = {}});
  const auto fed = FedWith(Row({1, 2, 3}), {3, 1});
  const auto cut = of.CutFor(fed);
  ASSERT_TRUE(cut);
  EXPECT_THAT(NamesIn(cut->tail), ElementsAre("b", "m", "n", "c", "y"));
  EXPECT_THAT(cut->crossing, ElementsAre("a:0"));
  EXPECT_EQ(cut->tail.fed.size(), 2U) << "a and x";
  const auto outputs = of.Run(fed);
  ASSERT_TRUE(outputs) << ToString(outputs.error());
  EXPECT_THAT((*outputs)[0].values<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT((*outputs)[1].values<float>(), ElementsAre(2, 11, 28)) << "Each softmax is 1; (2 x - 1)^2 + x.";
  EXPECT_EQ((*outputs)[2].shape(), (Shape{3, 1}));
  EXPECT_THAT((*outputs)[3].values<float>(), ElementsAre(2));
}

// `after` does not read the result of `set`, but must see it. `before` must not see it.
TEST(Cut, KeepsTheOrderOfNodesThatReadAndWriteVariables) {
  const std::string dtype = "attr { key: \"dtype\" value { type: DT_FLOAT } }";
  Case of(Fed("x") + Fed("sizes", "DT_INT32") + Node("v", "VarHandleOp", {}, dtype) +
              Node("before", "ReadVariableOp", {"v"}, dtype) + Hidden("a", "x") + Node("b", "Softmax", {"a"}) +
              Node("set", "AssignVariableOp", {"v", "b", "^before"}, dtype) +
              Node("after", "ReadVariableOp", {"v", "^set"}, dtype) + Node("y", "Identity", {"after"}),
          {.feeds = {"x", "sizes"}, .outputs = {"before", "y"}, .targets = {}});
  const auto cut = of.CutFor(FedWith(Row({1, 2}), {2, 1}));
  ASSERT_TRUE(cut);
  EXPECT_THAT(NamesIn(cut->head), ElementsAre("before", "a"));
  EXPECT_THAT(NamesIn(cut->tail), ElementsAre("b", "set", "after", "y"));
}

// `found` does not read a result of `insert`, but must see it. `before` must not see it.
TEST(Cut, KeepsTheOrderOfNodesThatReadAndChangeTables) {
  const std::string types =
      R"(attr { key: "Tin" value { type: DT_FLOAT } } attr { key: "Tout" value { type: DT_FLOAT } })";
  Case of(Fed("x") + Fed("sizes", "DT_INT32") + FloatConst("one", "1") +
              Node("t", "AnonymousMutableHashTable", {},
                   R"(attr { key: "key_dtype" value { type: DT_FLOAT } }
                      attr { key: "value_dtype" value { type: DT_FLOAT } })") +
              Node("before", "LookupTableFindV2", {"t", "x", "one"}, types) + Hidden("a", "x") +
              Node("b", "Softmax", {"a"}) + Node("c", "Reshape", {"b", "flat"}) +
              R"(node { name: "flat" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value"
                 value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: [1, 2] } } } })" +
              Node("insert", "LookupTableInsertV2", {"t", "x", "c", "^before"}, types) +
              Node("found", "LookupTableFindV2", {"t", "x", "one", "^insert"}, types) + Node("y", "Neg", {"found"}),
          {.feeds = {"x", "sizes"}, .outputs = {"before", "y"}, .targets = {}});
  const auto fed = FedWith(Row({5, 5.5F}), {1, 2});
  const auto right = of.ByPlan(fed), given = of.Run(fed);
  ASSERT_TRUE(right && given) << ToString(given.error());
  EXPECT_THAT((*given)[0].values<float>(), ElementsAre(1, 1));
  EXPECT_NE((*right)[1].values<float>()[0], -1) << "it was inserted";
  EXPECT_TRUE(IsNear((*given)[1], (*right)[1]));
}

// A chain of hidden shapes and products: with more than kPartsMax parts, the last part runs kernels.
TEST(Cut, CompilesEachPartForTheShapesThatArrive) {
  for (const int hidden : {1, 3, Programs::kPartsMax + 2}) {
    std::string nodes = Fed("x") + Fed("sizes", "DT_INT32"), last = "x";
    for (int i = 0; i < hidden; ++i) {
      nodes += Hidden(fmt::format("h{}", i), last);
      nodes += Node(fmt::format("p{}", i), "MatMul", {fmt::format("h{}", i), fmt::format("h{}", i)});
      last = fmt::format("p{}", i);
    }
    Case of(nodes + Node("y", "Relu", {last}), kOfY);
    const auto fed = FedWith(Tensor::Of<float>({4}, {1, 0.5F, 0, 1}), {2, 2});
    ASSERT_TRUE(of.Run(fed));
    EXPECT_EQ((*of.Run(fed))[0].values<float>()[1], (*of.ByPlan(fed))[0].values<float>()[1]);
    int kernels = 0;
    for (const PlanStep& step : of.Steps(fed)) kernels += step.op == "MatMul" && step.how == "kernel" ? 1 : 0;
    EXPECT_EQ(kernels, std::max(0, hidden - Programs::kPartsMax + 1));
  }
}

TEST(Cut, ARunOfManyShapesIsRight) {
  Case of(Fed("x") + Fed("sizes", "DT_INT32") + Hidden("a", "x") + Node("b", "Softmax", {"a"}) +
              Node("y", "AddV2", {"b", "b"}),
          kOfY);
  for (int round = 0; round < 2; ++round) {
    for (int32_t rows = 1; rows <= 2 * static_cast<int32_t>(Programs::kOfTailMax); ++rows) {
      const auto fed = FedWith(
          *Tensor::Of<float>({rows * 2}, std::vector<float>(static_cast<size_t>(rows) * 2, 1.0F)).Reshaped({rows * 2}),
          {rows, 2});
      const auto outputs = of.Run(fed);
      ASSERT_TRUE(outputs) << ToString(outputs.error());
      EXPECT_EQ((*outputs)[0].shape(), (Shape{rows, 2}));
      EXPECT_EQ((*outputs)[0].values<float>()[static_cast<size_t>(rows)], 1.0F);
    }
  }
}

TEST(Cut, TheProfileHasTheStepsOfAllParts) {
  Case of(Fed("x") + Fed("sizes", "DT_INT32") + Node("a", "Tanh", {"x"}) + Hidden("b", "a") +
              Node("c", "Softmax", {"b"}) + Hidden("d", "c") + Node("y", "Softmax", {"d"}),
          kOfY);
  const auto fed = FedWith(Row({1, 2}), {2, 1});
  EXPECT_THAT(of.Steps(fed).back().how, "compiled in the run");
  const RunProfile profile = of.Profiled(fed);
  std::vector<std::string> names;
  std::chrono::nanoseconds last{0};
  for (const NodeRun& node : profile.nodes) {
    names.push_back(node.node);
    EXPECT_GE(node.began, last);
    last = node.ended;
  }
  EXPECT_THAT(names, ElementsAre("a", "b", "c", "d", "y"));
  EXPECT_TRUE(profile.planned);
  EXPECT_NE(profile.nodes.back().how, "kernel");
  EXPECT_EQ(of.Steps(fed).size(), 5U);
  EXPECT_EQ(of.Steps(fed).back().shape, "[2,1]");
}

// Each tensor has 400,000 bytes. The head holds a and b at once, the tail b and its two outputs.
TEST(Cut, AllPartsHaveOneLimitOfMemory) {
  Case of(Fed("x") + Fed("sizes", "DT_INT32") + Node("a", "Tanh", {"x"}) + Hidden("b", "a") +
              Node("y", "Softmax", {"b"}) + Node("z", "Softmax", {"b"}),
          {.feeds = {"x", "sizes"}, .outputs = {"y", "z"}, .targets = {}});
  const auto fed = FedWith(*Tensor::Make(DType::kFloat, {1, 100'000}), {100'000});
  EXPECT_TRUE(of.Run(fed, 1'300'000));
  const auto answer = of.Run(fed, 1'100'000);
  ASSERT_FALSE(answer);
  EXPECT_THAT(ToString(answer.error()),
              testing::HasSubstr("needs 800000 bytes, most of them for op \"Softmax\" (node \""));
}

// The tail is fed x under another shape, which the head made without a copy.
TEST(Cut, AFedValueThatCrossesUnderAnotherShapeNeedsNoMemory) {
  Case of(Fed("x") + Fed("sizes", "DT_INT32") + Hidden("b", "x") + Node("y", "Softmax", {"b"}), kOfY);
  const auto fed = FedWith(*Tensor::Make(DType::kFloat, {1, 100'000}), {100'000});
  const auto answer = of.Run(fed, 500'000);
  EXPECT_TRUE(answer) << ToString(answer.error());
}

// Graphs over [4, 6] of random ops; about a third of the values are hidden.
std::string RandomNodes(std::mt19937& random, graph::Wanted* wanted) {
  std::string nodes = Fed("x") + Fed("z") + Fed("sizes", "DT_INT32");
  std::vector<std::string> names = {"x", "z"};
  const auto any = [&] { return names[names.size() - 1 - random() % std::min<size_t>(names.size(), 5)]; };
  for (int i = 0; i < 14; ++i) {
    const std::string name = fmt::format("n{}", i);
    switch (random() % 6) {
      case 0: nodes += Node(name, "AddV2", {any(), any()}); break;
      case 1: nodes += Node(name, "Softmax", {any()}); break;
      case 2: nodes += Node(name, "SquaredDifference", {any(), any()}); break;
      case 3: nodes += Node(name, "Tanh", {any()}); break;
      default: nodes += Hidden(name, any()); break;
    }
    names.push_back(name);
  }
  *wanted = {.feeds = {"x", "z", "sizes"}, .outputs = {any(), any(), any(), "x"}, .targets = {}};
  return nodes;
}

TEST(Cut, RandomGraphsHaveTheSameResultsAsTheReferencePlan) {
  constexpr uint64_t kGraphs = 300;
  const uint64_t first = seeds::First(kGraphs);
  int cut = 0;
  for (uint64_t seed = first; seed < first + kGraphs; ++seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    graph::Wanted wanted;
    const std::string nodes = RandomNodes(random, &wanted);
    Case of(nodes, wanted);
    const auto number = [&] { return static_cast<float>(random() % 2000) / 500.0F - 2.0F; };
    std::map<std::string, Tensor> fed = {{"sizes", Tensor::Of<int32_t>({2}, {4, 6})}};
    for (const char* name : {"x", "z"}) {
      fed[name] = *Tensor::Make(DType::kFloat, {4, 6});
      std::ranges::generate(fed[name].mutable_values<float>(), number);
    }
    cut += of.CutFor(fed) ? 1 : 0;
    const auto right = of.ByPlan(fed), given = of.Run(fed);
    ASSERT_TRUE(right && given) << seed;
    for (size_t i = 0; i < right->size(); ++i)
      ASSERT_TRUE(IsNear((*given)[i], (*right)[i])) << "seed " << seed << "\n" << nodes;
  }
  EXPECT_GT(cut, static_cast<int>(kGraphs) / 4);
}

}  // namespace
}  // namespace longshore::engine::cpu
