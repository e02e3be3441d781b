// Tests branches, loops, recursion and lists in hand-made graphs: their results and their limits, in plans and in
// programs.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "serving-node/engine/cpu/compiled.h"
#include "serving-node/engine/interpreter/plan.h"
#include "serving-node/engine/interpreter/plan_executable.h"
#include "serving-node/graph/build.h"

namespace longshore::engine::cpu {
namespace {

using interpreter::Plan;

using tensor::Tensor;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// A constant, as a node of a function or of the graph itself.
std::string Number(const std::string& name, double value, bool in_function = true) {
  return fmt::format(
      "{} {{ name: '{}' op: 'Const' attr {{ key: 'value' value {{ tensor {{ dtype: DT_FLOAT tensor_shape {{}} "
      "float_val: "
      "{} }} }} }} }} ",
      in_function ? "node_def" : "node", name, value);
}

std::string Op(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
               const std::string& attributes = "", bool in_function = true) {
  std::string text = fmt::format("{} {{ name: '{}' op: '{}' ", in_function ? "node_def" : "node", name, op);
  for (const auto& input : inputs) text += fmt::format("input: '{}' ", input);
  return text + attributes + "} ";
}

std::string Func(const std::string& attribute, const std::string& function) {
  return fmt::format("attr {{ key: '{}' value {{ func {{ name: '{}' }} }} }} ", attribute, function);
}

// A function whose arguments are the letters in `arguments`; it returns `results`.
std::string Function(const std::string& name, const std::string& arguments, const std::string& nodes,
                     const std::vector<std::string>& results) {
  std::string text = fmt::format("library {{ function {{ signature {{ name: '{}' ", name);
  for (const char argument : arguments) text += fmt::format("input_arg {{ name: '{}' type: DT_FLOAT }} ", argument);
  for (size_t i = 0; i < results.size(); ++i) text += fmt::format("output_arg {{ name: 'r{}' }} ", i);
  text += "} " + nodes;
  for (size_t i = 0; i < results.size(); ++i) text += fmt::format("ret {{ key: 'r{}' value: '{}' }} ", i, results[i]);
  return text + "} } ";
}

const std::string kX = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } ";

struct Given {
  std::string graph;
  std::string output = "y:0";
  kernels::RunLimits limits = {};
  size_t bytes_max = SIZE_MAX;
};

Result<Plan> MakePlan(const Given& given, Plan::Folding folding = {.fold = true, .fold_variables = true}) {
  tensorflow::GraphDef def;
  // MergeFromString, because the text has a `library` field for each function.
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(kX + given.graph, &def)) << given.graph;
  const graph::Wanted wanted{{"x:0"}, {given.output}, {}};
  ASSIGN_OR_RETURN(auto graph, graph::Build(def, wanted));
  interpreter::Unsupported unsupported;
  unsupported.Check(graph);
  RETURN_IF_ERROR(unsupported.ToStatus());
  kernels::Resources resources;
  return Plan::Make(std::move(graph), folding, resources);
}

std::unique_ptr<interpreter::Executable> MakePrograms(Plan plan, const kernels::RunLimits& limits) {
  return std::make_unique<Compiled>(plan.ToGraph(), ExecutionOptions{.threads = 1, .limits = limits, .passes_off = {}},
                                    std::make_shared<RunMemory>(), std::make_shared<Weights>());
}

// Each test runs twice: with a reference plan and with compiled programs.
using MakeExecutable = std::unique_ptr<interpreter::Executable> (*)(Plan plan, const kernels::RunLimits& limits);
class Control : public testing::TestWithParam<MakeExecutable> {
 protected:
  static Result<float> Answer(const Given& given, float x) {
    ASSIGN_OR_RETURN(Plan plan, MakePlan(given));
    kernels::Resources resources;
    const auto executable = GetParam()(std::move(plan), given.limits);
    ASSIGN_OR_RETURN(const auto outputs,
                     executable->Run({{"x:0", Tensor::Of<float>({}, {x})}}, {}, resources, given.bytes_max));
    return outputs[0].values<float>()[0];
  }
  // Returns the node that made the NaN, "all is finite", or the error.
  static std::string MakerOfNan(const Given& given, float x) {
    auto plan = MakePlan(given);
    if (!plan) return ToString(plan.error());
    kernels::Resources resources;
    const auto executable = GetParam()(std::move(*plan), given.limits);
    const auto origin = executable->FindNonFinite({{"x:0", Tensor::Of<float>({}, {x})}}, resources, SIZE_MAX);
    if (!origin) return ToString(origin.error());
    return *origin ? (*origin)->maker.node : "all is finite";
  }
  static std::string ErrorOf(const Given& given, float x) {
    const auto result = Answer(given, x);
    return result ? fmt::format("an answer: {}", *result) : ToString(result.error());
  }
};
INSTANTIATE_TEST_SUITE_P(Plans, Control, testing::Values(interpreter::RunPlan));
INSTANTIATE_TEST_SUITE_P(Programs, Control, testing::Values(MakePrograms));

// f(a) = a <= 1 ? 1 : a * f(a - 1)
std::string Factorial(const std::string& of) {
  return Function("f", "a",
                  Number("one", 1) + Op("more", "Greater", {"a", "one:output:0"}) +
                      Op("if", "If", {"more:z:0", "a"}, Func("then_branch", "again") + Func("else_branch", "one")),
                  {"if:output:0"}) +
         Function("one", "a", Number("one", 1), {"one:output:0"}) +
         Function("again", "a",
                  Number("one", 1) + Op("less", "Sub", {"a", "one:output:0"}) +
                      Op("f", "StatefulPartitionedCall", {of}, Func("f", "f")) + Op("mul", "Mul", {"a", "f:output:0"}),
                  {"mul:z:0"}) +
         Op("y", "PartitionedCall", {"x"}, Func("f", "f"), false);
}

TEST_P(Control, RunsAFunctionThatCallsItselfInABranch) {
  EXPECT_EQ(Answer({Factorial("less:z:0")}, 5), 120.0F);
  EXPECT_EQ(Answer({Factorial("less:z:0")}, 0), 1.0F);
}

TEST_P(Control, StopsARecursionThatDoesNotEnd) {
  const std::string error = ErrorOf({Factorial("a")}, 5);
  EXPECT_THAT(error, StartsWith("RESOURCE_EXHAUSTED: op \"If\" (node \"y/if\"): op \"If\" (node \"again/f/if\"): "));
  EXPECT_THAT(error, HasSubstr("deeper than 200 levels"));
  EXPECT_LT(error.size(), 300U) << "the message does not name every level";
}

// a = x; while (a < limit) a = a + by.
std::string Loop(double limit, double by, const std::string& result = "sum:z:0") {
  return Function("cond", "a", Number("limit", limit) + Op("less", "Less", {"a", "limit:output:0"}), {"less:z:0"}) +
         Function("body", "a", Number("by", by) + Op("sum", "AddV2", {"a", "by:output:0"}), {result}) +
         Op("y", "While", {"x"}, Func("cond", "cond") + Func("body", "body"), false);
}

TEST_P(Control, RunsALoopUntilItsConditionIsFalse) {
  EXPECT_EQ(Answer({Loop(10, 3)}, 0), 12.0F);
  EXPECT_EQ(Answer({Loop(10, 3)}, 11), 11.0F) << "no step at all";
}

TEST_P(Control, AProfiledRunReturnsTheOutputsAndNotesEveryStepOfALoop) {
  const auto executable = GetParam()(MakePlan({Loop(10, 3)}).value(), {});
  kernels::Resources resources;
  RunProfile profile;
  const auto outputs = executable->Profile({{"x:0", Tensor::Of<float>({}, {0})}}, {}, resources, SIZE_MAX, &profile);
  ASSERT_TRUE(outputs);
  EXPECT_EQ((*outputs)[0].values<float>()[0], 12.0F);
  std::map<std::string, int> counts;
  for (const NodeRun& node : profile.nodes) counts[node.op] += 1;
  EXPECT_EQ(counts, (std::map<std::string, int>{{"Less", 5}, {"AddV2", 4}, {"While", 1}}));
  EXPECT_EQ(profile.nodes.back().op, "While");
  EXPECT_EQ(profile.nodes.back().output, "DT_FLOAT []");
}

TEST(Programs, StepsOfABodyAreWithinTheTimeOfTheStepThatRunsIt) {
  const auto executable = MakePrograms(MakePlan({Loop(10, 3)}).value(), {});
  kernels::Resources resources;
  RunProfile profile;
  profile.began = std::chrono::steady_clock::now();
  ASSERT_TRUE(executable->Profile({{"x:0", Tensor::Of<float>({}, {0})}}, {}, resources, SIZE_MAX, &profile));
  const NodeRun& loop = profile.nodes.back();
  std::chrono::nanoseconds sum{0};
  for (const NodeRun& node : profile.nodes) {
    EXPECT_GE(node.began, loop.began);
    EXPECT_LE(node.ended, loop.ended);
    EXPECT_GE(loop.held_bytes, node.bytes);
    sum += node.took;
  }
  EXPECT_LE(sum, loop.ended - loop.began);
  EXPECT_LT(loop.took, loop.ended - loop.began);
}

TEST(Programs, TheTimeOfAStepExcludesTheStepsOfItsBody) {
  const auto executable = MakePrograms(MakePlan({Loop(10, 3)}).value(), {});
  kernels::Resources resources;
  RunProfile profile;
  ASSERT_TRUE(executable->Profile({{"x:0", Tensor::Of<float>({}, {0})}}, {}, resources, SIZE_MAX, &profile));
  const NodeRun& loop = profile.nodes.back();
  auto others = loop.ended - loop.began;
  for (const NodeRun& node : profile.nodes) {
    if (&node == &loop) continue;
    EXPECT_EQ(node.took, node.ended - node.began);
    others -= node.took;
  }
  EXPECT_LE(loop.took, others) << "the time to note the steps does not count";
  EXPECT_GE(loop.took, profile.nodes[0].began - loop.began) << "planning the bodies counts for the loop";
}

TEST_P(Control, AProfiledRunHasTheLimitsOfARun) {
  const auto executable = GetParam()(MakePlan({Loop(10, 0)}).value(), {.steps_max = 100});
  kernels::Resources resources;
  std::atomic<int64_t> room_bytes = 10'000;
  RunProfile profile;
  profile.room_bytes = &room_bytes;
  const auto outputs = executable->Profile({{"x:0", Tensor::Of<float>({}, {0})}}, {}, resources, SIZE_MAX, &profile);
  ASSERT_FALSE(outputs);
  EXPECT_THAT(outputs.error().message, HasSubstr("more than 100 steps"));
  EXPECT_LE(profile.nodes.size(), 10'000 / sizeof(NodeRun));
  EXPECT_GT(profile.left_out, 100);
}

TEST_P(Control, StopsALoopThatDoesNotEnd) {
  EXPECT_THAT(ErrorOf({Loop(10, 0), "y:0", {.steps_max = 1000}}, 0),
              AllOf(StartsWith("RESOURCE_EXHAUSTED: op \"While\" (node \"y\")"), HasSubstr("more than 1000 steps")));
  EXPECT_THAT(ErrorOf({Loop(10, 0), "y:0", {.time_max = std::chrono::milliseconds(20)}}, 0),
              AllOf(StartsWith("RESOURCE_EXHAUSTED: op \"While\""), HasSubstr("longer than the limit of 20 ms")));
}

TEST_P(Control, RejectsBodiesWithWrongResults) {
  EXPECT_THAT(ErrorOf({Loop(10, 1) + Op("c", "Cast", {"x"}, "", false), "y:3"}, 0),
              HasSubstr("reads output 3 of node"));
  const std::string cond = Function("cond", "a", Op("less", "Less", {"a", "a"}), {"less:z:0"});
  const std::string loop = Op("y", "While", {"x"}, Func("cond", "true") + Func("body", "body"), false) + cond +
                           Function("true", "a", Number("one", 1), {"one:output:0"});
  EXPECT_THAT(ErrorOf({loop + Function("body", "a", Op("less", "Less", {"a", "a"}), {"less:z:0"})}, 0),
              HasSubstr("returns DT_BOOL as output 0 instead of DT_FLOAT"));
  EXPECT_THAT(ErrorOf({loop + Function("body", "a", "", {"a", "a"})}, 0), HasSubstr("returns 2 values instead of 1"));
  EXPECT_THAT(ErrorOf({loop + Function("body", "a", Op("less", "Reshape", {"a", "a"}), {"less:z:0"})}, 0),
              HasSubstr("op \"Reshape\" (node \"body/less\")"));
}

// The loop doubles a vector in every iteration.
TEST_P(Control, StopsALoopThatExceedsTheMemoryOfARun) {
  const std::string doubling =
      Function("true", "a", Number("one", 1), {"one:output:0"}) +
      Function("body", "a", Op("twice", "Pack", {"a", "a"}, "attr { key: 'N' value { i: 2 } }"), {"twice:output:0"}) +
      Op("y", "While", {"x"}, Func("cond", "true") + Func("body", "body"), false);
  EXPECT_THAT(ErrorOf({doubling, "y:0", {}, 1 << 20}, 1), AllOf(StartsWith("RESOURCE_EXHAUSTED"), HasSubstr("memory")));
}

std::string Branches(const std::string& no) {
  return Op("y", "If", {"x", "x"}, Func("then_branch", "yes") + Func("else_branch", "no"), false) +
         Function("yes", "a", "", {"a"}) + Function("no", "a", no, {"out:y:0"});
}

TEST_P(Control, DoesNotComputeTheBranchThatIsNotTaken) {
  const std::string fails = Number("c", 1) + Op("out", "Reshape", {"c:output:0", "c:output:0"});
  EXPECT_EQ(Answer({Branches(fails)}, 3), 3.0F);
  EXPECT_THAT(ErrorOf({Branches(fails)}, 0), HasSubstr("op \"If\" (node \"y\"): op \"Reshape\" (node \"no/out\")"));
}

TEST(Plans, RejectUnsupportedOpsInBodiesAtLoad) {
  const auto plan = MakePlan({Branches(Op("out", "Unheard", {"a"}))});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message, "unsupported ops: \"Unheard\" (node \"no/out\")");
}

// Outputs are checked before all passes, so that the error names original nodes.
TEST(Outputs, ThatDoNotExistAreRejectedAtLoad) {
  const auto made = MakePlan({Op("i", "Identity", {"x"}, "", false) + Op("y", "Neg", {"i:1"}, "", false)});
  ASSERT_FALSE(made);
  EXPECT_EQ(ToString(made.error()),
            "INVALID_ARGUMENT: node \"y\" reads output 1 of node \"i\" (op \"Identity\"), which has 1 output(s)");
}

TEST_P(Control, NamesTheNodeInABranchThatMadeANan) {
  const Given given{
      Branches(Number("c", 0) + Op("div", "RealDiv", {"a", "c:output:0"}) + Op("out", "Neg", {"div:z:0"}))};
  EXPECT_EQ(MakerOfNan(given, 0), "no/div");
}

TEST_P(Control, RejectsASplitAlongAnInvalidAxis) {
  const auto along = [](const std::string& axis) {
    return Given{axis + Op("y", "Split", {"axis", "x"}, "attr { key: 'num_split' value { i: 1 } } ", false)};
  };
  const auto ints = [](const std::string& tensor) {
    return "node { name: 'axis' op: 'Const' attr { key: 'value' value { tensor { dtype: DT_INT32 " + tensor +
           " } } } } ";
  };
  for (const std::string& axis : {Number("axis", 0, false), ints("tensor_shape { dim { size: 0 } }"),
                                  ints("tensor_shape {} int_val: 7"), ints("tensor_shape {} int_val: -2147483648")}) {
    EXPECT_THAT(ErrorOf(along(axis), 1), HasSubstr("Split")) << axis;
  }
}

// The condition of the loop runs once more after the last iteration. It must not be reported as the origin of the NaN.
TEST_P(Control, NamesTheNodeInALoopThatMadeANan) {
  const Given given{
      Number("first", 0, false) +
          Function("cond", "ia", Number("steps", 3) + Op("less", "Less", {"i", "steps:output:0"}), {"less:z:0"}) +
          Function("body", "ia",
                   Number("one", 1) + Op("next", "AddV2", {"i", "one:output:0"}) + Op("root", "Sqrt", {"a"}) +
                       Op("out", "Neg", {"root:y:0"}),
                   {"next:z:0", "out:y:0"}) +
          Op("y", "While", {"first", "x"}, Func("cond", "cond") + Func("body", "body"), false),
      "y:1"};
  EXPECT_EQ(MakerOfNan(given, 4), "body/root");
}

const std::string kOfFloats = "attr { key: 'T' value { type: DT_FLOAT } } ";

// Nodes that compute `name` = the largest value of softmax([0, 1, ...]) with as many numbers as the value of `of` says,
// so that shapes are known only in the run. `within` computes "values" from "softmax".
std::string LargestOfSoftmax(const std::string& name, const std::string& of, bool in_function,
                             const std::string& within = "Identity") {
  const auto output = [&](const std::string& node, const char* argument) {
    return in_function ? node + ":" + argument + ":0" : node;
  };
  return Number("zero", 0, in_function) + Number("one", 1, in_function) +
         Op("range", "Range", {output("zero", "output"), of, output("one", "output")},
            "attr { key: 'Tidx' value { type: DT_FLOAT } } ", in_function) +
         Op("softmax", "Softmax", {output("range", "output")}, kOfFloats, in_function) +
         Op("negative", "Neg", {output("softmax", "softmax")}, kOfFloats, in_function) +
         Op("values", within, {output("negative", "y")}, kOfFloats, in_function) +
         Op("axis", "Const", {},
            "attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } ", in_function) +
         Op(name, "Min", {output("values", within == "Identity" ? "output" : "y"), output("axis", "output")}, kOfFloats,
            in_function);
}

TEST_P(Control, RunsAPartBehindACutInALoop) {
  const Given given{
      Number("first", 0, false) +
          Function("cond", "ia", Number("steps", 3) + Op("less", "Less", {"i", "steps:output:0"}), {"less:z:0"}) +
          Function("body", "ia",
                   LargestOfSoftmax("least", "a", true) + Op("next", "AddV2", {"i", "one:output:0"}) +
                       Op("out", "Sub", {"a", "least:output:0"}, kOfFloats),
                   {"next:z:0", "out:z:0"}) +
          Op("y", "While", {"first", "x"}, Func("cond", "cond") + Func("body", "body"), false),
      "y:1"};
  float right = 4;
  for (int step = 0; step < 3; ++step) {
    float sum = 0;
    for (float x = 0; x < right; ++x) sum += std::exp(x);
    right += std::exp(std::ceil(right) - 1) / sum;
  }
  const auto answer = Answer(given, 4);
  ASSERT_TRUE(answer) << ToString(answer.error());
  EXPECT_NEAR(*answer, right, 1e-4);
}

TEST_P(Control, NamesTheNodeBehindACutInALoopThatMadeANan) {
  const Given given{
      Number("first", 0, false) +
          Function("cond", "ia", Number("steps", 1) + Op("less", "Less", {"i", "steps:output:0"}), {"less:z:0"}) +
          Function("body", "ia",
                   LargestOfSoftmax("least", "a", true, "Sqrt") + Op("next", "AddV2", {"i", "one:output:0"}),
                   {"next:z:0", "least:output:0"}) +
          Op("y", "While", {"first", "x"}, Func("cond", "cond") + Func("body", "body"), false),
      "y:1"};
  // The programs of bodies stay fused, so the first node of a chain stands for all.
  EXPECT_THAT(MakerOfNan(given, 4), testing::AnyOf("body/values", "body/negative"));
}

// A part behind a cut of the main graph is not part of a body, although a body ran before it: its buffer is kept.
TEST(Programs, APartBehindALoopKeepsItsBuffer) {
  const auto plan = MakePlan(
      {Number("first", 0, false) +
       Function("cond", "ia", Number("steps", 3) + Op("less", "Less", {"i", "steps:output:0"}), {"less:z:0"}) +
       Function("body", "ia", Number("step", 1) + Op("next", "AddV2", {"i", "step:output:0"}), {"next:z:0", "a"}) +
       Op("while", "While", {"first", "x"}, Func("cond", "cond") + Func("body", "body"), false) +
       LargestOfSoftmax("y", "while:1", false)});
  ASSERT_TRUE(plan);
  const auto memory = std::make_shared<RunMemory>();
  const Compiled compiled(plan->ToGraph(), ExecutionOptions(), memory, std::make_shared<Weights>());
  kernels::Resources resources;
  ASSERT_TRUE(compiled.Run({{"x:0", Tensor::Of<float>({}, {10'000})}}, {}, resources, SIZE_MAX));
  EXPECT_GE(memory->free_bytes(), 40'000U);
}

// A shape that has its own program keeps using it after the program for unknown shapes exists.
TEST(BodyPrograms, AProgramForTheShapesComesBeforeTheOneForUnknownShapes) {
  const auto plan = MakePlan({Op("y", "Neg", {"x"}, "", false)});
  ASSERT_TRUE(plan);
  const graph::Graph graph = plan->ToGraph();
  Weights weights;
  kernels::Resources resources;
  const Programs programs(graph, {}, weights, {.program = {}, .shapes_max = 2});
  const auto of_rows = [&](int64_t rows) {
    const Tensor x = *Tensor::Make(tensor::DType::kFloat, {rows});
    return programs.For({{"x:0", x}}, {}, resources, SIZE_MAX).made;
  };
  const auto one = of_rows(1), two = of_rows(2), any = of_rows(3);
  EXPECT_NE(one, two);
  EXPECT_EQ(of_rows(4), any);
  EXPECT_EQ(of_rows(1), one);
  EXPECT_EQ(of_rows(2), two);
  EXPECT_EQ(of_rows(3), any);
}

TEST(Programs, OnlyTheFirstRunOfAShapePlans) {
  const auto plan = MakePlan({Op("y", "Neg", {"x"}, "", false)});
  ASSERT_TRUE(plan);
  const auto executable = MakePrograms(*plan, {});
  kernels::Resources resources;
  const auto plans = [&](int64_t rows) {
    bool planned = false;
    EXPECT_TRUE(
        executable->Run({{"x:0", *Tensor::Make(tensor::DType::kFloat, {rows})}}, {}, resources, SIZE_MAX, &planned));
    return planned;
  };
  EXPECT_TRUE(plans(1));
  EXPECT_FALSE(plans(1));
  EXPECT_TRUE(plans(2));
  EXPECT_FALSE(plans(1));
}

TEST(Programs, ARunIsPlannedOnceItsShapeIsKnownUnlessShapesAriseInTheRun) {
  const auto is_planned = [](const Given& given, bool ran) {
    const auto executable = MakePrograms(*MakePlan(given), {});
    kernels::Resources resources;
    const std::map<std::string, Tensor> fed = {{"x:0", Tensor::Of<float>({}, {4})}};
    EXPECT_TRUE(!ran || executable->Run(fed, {}, resources, SIZE_MAX));
    return executable->IsPlanned(fed, {});
  };
  const Given known{Op("y", "Neg", {"x"}, "", false)}, behind_a_cut{LargestOfSoftmax("y", "x", false)},
      with_body{Function("f", "a", Op("n", "Neg", {"a"}), {"n:y:0"}) +
                Op("y", "If", {"x", "x"}, Func("then_branch", "f") + Func("else_branch", "f"), false)};
  EXPECT_FALSE(is_planned(known, false));
  EXPECT_TRUE(is_planned(known, true));
  EXPECT_FALSE(is_planned(behind_a_cut, true));
  EXPECT_FALSE(is_planned(with_body, true));
}

// Nodes that depend on no input are computed once at load, including loops.
TEST(Plans, ComputeALoopOfConstantsAtLoad) {
  const Given given{Number("zero", 0, false) +
                    Function("cond", "a", Number("l", 9) + Op("less", "Less", {"a", "l:output:0"}), {"less:z:0"}) +
                    Function("body", "a", Number("by", 2) + Op("sum", "AddV2", {"a", "by:output:0"}), {"sum:z:0"}) +
                    Op("w", "StatelessWhile", {"zero"}, Func("cond", "cond") + Func("body", "body"), false) +
                    Op("y", "AddV2", {"w", "x"}, "", false)};
  const auto plan = MakePlan(given);
  ASSERT_TRUE(plan);
  kernels::Resources resources;
  std::vector<std::string> computed;
  const auto outputs = plan->Run({{"x:0", Tensor::Of<float>({}, {1})}}, {}, resources, SIZE_MAX,
                                 [&](const graph::Node& node, auto, const auto&) { computed.push_back(node.name); });
  ASSERT_TRUE(outputs);
  EXPECT_THAT((*outputs)[0].values<float>(), ElementsAre(11.0F));
  EXPECT_THAT(computed, ElementsAre("y"));
}

constexpr char kFloats[] = "attr { key: 'element_dtype' value { type: DT_FLOAT } } ";

std::string Int(const std::string& name, int64_t value, bool in_function = false) {
  return fmt::format(
      "{} {{ name: '{}' op: 'Const' attr {{ key: 'value' value {{ tensor {{ dtype: DT_INT32 tensor_shape {{}} int_val: "
      "{} }} }} }} }} ",
      in_function ? "node_def" : "node", name, value);
}

TEST_P(Control, OpsReturnNewListsAndDoNotChangeTheirInput) {
  const std::string graph = Int("any", -1) + Int("two", 2) + Int("one", 1) +
                            Op("empty", "TensorListReserve", {"any", "two"}, kFloats, false) +
                            Op("first", "TensorListSetItem", {"empty", "one", "x"}, "", false) +
                            Op("neg", "Neg", {"x"}, "", false) +
                            Op("second", "TensorListSetItem", {"first", "one", "neg"}, "", false) +
                            Op("read", "TensorListGetItem", {"first", "one", "any"}, kFloats, false) +
                            Op("read_second", "TensorListGetItem", {"second", "one", "any"}, kFloats, false) +
                            Op("y", "Sub", {"read", "read_second"}, "", false);
  EXPECT_EQ(Answer({graph}, 3), 6.0F);
}

TEST_P(Control, ListsRejectInvalidIndicesElementsAndSizes) {
  const auto error = [](int64_t size, int64_t at, const std::string& element) {
    return ErrorOf({Int("any", -1) + Int("size", size) + Int("at", at) +
                    Op("empty", "TensorListReserve", {"any", "size"}, kFloats, false) +
                    Op("set", "TensorListSetItem", {"empty", "at", element}, "", false) +
                    Op("y", "TensorListGetItem", {"set", "size", "any"}, kFloats, false)},
                   1);
  };
  EXPECT_THAT(error(2, 2, "x"), HasSubstr("index 2 is out of range for a list of 2 elements"));
  EXPECT_THAT(error(2, -1, "x"), HasSubstr("index -1 is out of range"));
  EXPECT_THAT(error(2, 0, "any"), HasSubstr("an element of DT_INT32 cannot be put into a list of DT_FLOAT"));
  EXPECT_THAT(error(2, 0, "empty"), HasSubstr("an element of DT_VARIANT"));
  EXPECT_THAT(error(2'000'000'000, 0, "x"), HasSubstr("the limit is 1000000"));
  EXPECT_THAT(error(-5, 0, "x"), HasSubstr("a list cannot have -5 elements"));
}

TEST_P(Control, NestedListsHaveADepthLimit) {
  const std::string of_lists = "attr { key: 'element_dtype' value { type: DT_VARIANT } } ";
  const std::string graph =
      Int("any", -1) + Op("l", "EmptyTensorList", {"any", "any"}, of_lists, false) +
      Function("true", "a", Number("one", 1), {"one:output:0"}) +
      Function("body", "a",
               Int("any", -1, true) + Op("e", "EmptyTensorList", {"any:output:0", "any:output:0"}, of_lists) +
                   Op("push", "TensorListPushBack", {"e:handle:0", "a"}),
               {"push:output_handle:0"}) +
      Op("y", "While", {"l"}, Func("cond", "true") + Func("body", "body"), false);
  EXPECT_THAT(ErrorOf({graph}, 1), HasSubstr("lists are nested deeper than 32 levels"));
}

}  // namespace
}  // namespace longshore::engine::cpu
