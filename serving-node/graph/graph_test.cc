#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "common/json/json.h"
#include "common/os/file.h"
#include "serving-node/graph/build.h"
#include "serving-node/graph/names.h"
#include "serving-node/graph/outputs.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

tensorflow::GraphDef Def(const std::string& text) {
  tensorflow::GraphDef def;
  // MergeFromString and not ParseFromString, because the text may have several `library` fields.
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(text, &def));
  return def;
}

Graph BuildOrFail(const std::string& text, const Wanted& wanted) {
  auto graph = Build(Def(text), wanted);
  EXPECT_TRUE(graph) << (graph ? "" : ToString(graph.error()));
  return graph ? std::move(*graph) : Graph{};
}

std::vector<std::string> Names(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes) names.push_back(node.name);
  return names;
}

const Node& Find(const Graph& graph, const std::string& name) {
  const auto found =
      std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.name == name; });
  EXPECT_NE(found, graph.nodes.end()) << name;
  return *found;
}

constexpr char kIn[] = "node { name: 'x' op: 'Placeholder' } ";

// A function f(a) = relu(neg(a)) with an unused node `spare`.
constexpr char kFunction[] = R"(
  library { function {
    signature { name: 'f' input_arg { name: 'a' } output_arg { name: 'r' } }
    node_def { name: 'n' op: 'Neg' input: 'a' attr { key: 'T' value { placeholder: 'T' } } }
    node_def { name: 'spare' op: 'Exp' input: 'a' }
    node_def { name: 'out' op: 'Relu' input: 'n:y:0' }
    ret { key: 'r' value: 'out:activations:0' } } }
)";

// Returns a library with a function of `a` that has a single node.
std::string Function(const std::string& name, const std::string& op, const std::string& output = "y:0") {
  return fmt::format(
      "library {{ function {{ signature {{ name: '{}' input_arg {{ name: 'a' type: DT_FLOAT }} output_arg {{ name: 'r' "
      "}} }} node_def {{ name: 'op' op: '{}' input: 'a' }} ret {{ key: 'r' value: 'op:{}' }} }} }} ",
      name, op, output);
}

constexpr char kIf[] = R"(
  node { name: 'if' op: 'If' input: 'x' input: 'x'
         attr { key: 'then_branch' value { func { name: 'yes' } } }
         attr { key: 'else_branch' value { func { name: 'no' } } } } )";

TEST(References, ParsesTheNotationsOfGraphsAndFunctions) {
  EXPECT_EQ(ParseReference("a/b:2").index, 2);
  EXPECT_TRUE(ParseReference("^a").control);
  const auto named = ParseReference("norm:batch_variance:1");
  EXPECT_EQ(named.node, "norm");
  EXPECT_EQ(named.output_name, "batch_variance");
  EXPECT_EQ(named.index, 1);
}

// Attributes that give the i-th output i tensors: one for the first, two for the second.
Attributes CountsOf(const Json& outputs) {
  Attributes attributes;
  for (size_t i = 0; i < outputs.size(); ++i) {
    tensorflow::AttrValue value;
    if (outputs[i].contains("number")) {
      value.set_i(static_cast<int64_t>(i) + 1);
      attributes.Set(outputs[i].at("number").get<std::string>(), value);
    } else if (outputs[i].contains("types")) {
      for (size_t type = 0; type <= i; ++type) value.mutable_list()->add_type(tensorflow::DT_FLOAT);
      attributes.Set(outputs[i].at("types").get<std::string>(), value);
    }
  }
  return attributes;
}

int64_t CountOf(const Json& output, const Attributes& attributes) {
  if (output.contains("number")) return attributes.Int(output.at("number").get<std::string>(), 0);
  if (!output.contains("types")) return 1;
  return attributes.Find(output.at("types").get<std::string>())->list().type_size();
}

TEST(Outputs, HaveTheTypesThatTheAttributesState) {
  const auto with = [](const char* text) {
    tensorflow::NodeDef def;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &def));
    return Attributes(def.attr());
  };
  const auto dtype = with("attr { key: 'dtype' value { type: DT_STRING } } attr { key: 'T' value { type: DT_INT32 } }");
  EXPECT_EQ(OutputType("Placeholder", dtype, 0), tensor::DType::kString);
  EXPECT_EQ(OutputType("Identity", dtype, 0), tensor::DType::kInt32);
  EXPECT_EQ(OutputType("Identity", dtype, 1), std::nullopt);
  EXPECT_EQ(OutputType("Less", dtype, 0), std::nullopt) << "T is the type of its inputs";
  EXPECT_EQ(OutputType("Placeholder", Attributes(), 0), std::nullopt);
  const auto parse = with(
      "attr { key: 'Nsparse' value { i: 1 } } attr { key: 'sparse_types' value { list { type: DT_INT64 } } } "
      "attr { key: 'Tdense' value { list { type: [DT_FLOAT, DT_STRING] } } }");
  EXPECT_EQ(OutputType("ParseExample", parse, 0), std::nullopt);
  EXPECT_EQ(OutputType("ParseExample", parse, 1), tensor::DType::kInt64);
  EXPECT_EQ(OutputType("ParseExample", parse, 4), tensor::DType::kString);
  EXPECT_EQ(OutputType("ParseExample", parse, 5), std::nullopt);
  EXPECT_EQ(OutputType("ParseExample", parse, -1), std::nullopt);
}

TEST(Outputs, HaveThePositionsThatTensorFlowGivesThem) {
  const auto text = ReadFile(source_tree::Root() / "tests" / "golden" / "graph" / "outputs.json");
  ASSERT_TRUE(text) << ToString(text.error());
  const auto ops = ParseJson(*text);
  ASSERT_TRUE(ops) << ToString(ops.error());
  for (const auto& [op, outputs] : ops->items()) {
    const Attributes attributes = CountsOf(outputs);
    int64_t offset = 0;
    for (const auto& output : outputs) {
      const std::string name = output.at("name").get<std::string>();
      EXPECT_EQ(OutputOffset(op, attributes, name), offset) << op << " " << name;
      offset += CountOf(output, attributes);
    }
    EXPECT_EQ(OutputOffset(op, attributes, "no_such_output"), std::nullopt) << op;
    const Node node{.name = "n", .op = op, .attributes = attributes};
    const auto reads = [&](int64_t output) {
      Graph graph;
      graph.nodes = {node};
      graph.outputs = {{0, static_cast<int>(output)}};
      return graph;
    };
    if (op == "IdentityN") continue;  // An IdentityN has as many outputs as inputs, and this node has no inputs.
    EXPECT_EQ(offset == 0, !CheckOutputs(reads(0))) << op;
    EXPECT_TRUE(offset == 0 || CheckOutputs(reads(offset - 1))) << op;
    EXPECT_FALSE(CheckOutputs(reads(offset))) << op;
  }
}

TEST(Outputs, RejectsReadsOfMissingOutputsAndNamesBothNodes) {
  const auto error = [](const std::string& nodes) {
    const auto graph = Build(Def(std::string(kIn) + nodes), {{"x:0"}, {"y:0"}, {}});
    const Status checked = graph ? CheckOutputs(*graph) : tl::make_unexpected(graph.error());
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(error("node { name: 'n' op: 'IdentityN' input: 'x' input: 'x' } node { name: 'y' op: 'Neg' input: 'n:1' }"),
            "");
  EXPECT_EQ(error("node { name: 'i' op: 'Identity' input: 'x' } node { name: 'y' op: 'Neg' input: 'i:1' }"),
            "node \"y\" reads output 1 of node \"i\" (op \"Identity\"), which has 1 output(s)");
  EXPECT_EQ(error("node { name: 'n' op: 'NoOp' } node { name: 'y' op: 'Neg' input: 'n' }"),
            "node \"y\" reads output 0 of node \"n\" (op \"NoOp\"), which has 0 output(s)");
  EXPECT_EQ(error("node { name: 'y' op: 'NoOp' input: 'x' }"),
            "a result of the graph reads output 0 of node \"y\" (op \"NoOp\"), which has 0 output(s)");
  EXPECT_EQ(error("node { name: 'y' op: 'TopKV2' input: 'x:1' }"), "node \"x\" has no output 1");
}

TEST(Outputs, AreCheckedInBodiesToo) {
  const auto graph = BuildOrFail(
      std::string(kIn) + kIf + Function("yes", "TopKV2", "indices") + Function("no", "Identity", "output:1"),
      {{"x:0"}, {"if:0"}, {}});
  const auto checked = CheckOutputs(graph);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("output 1 of node \"no/op\" (op \"Identity\")"));
}

TEST(Outputs, AreFoundByTheNamesThatTheOpGivesThem) {
  const auto error = [](const std::string& op, const std::string& output) {
    const auto graph =
        Build(Def(std::string(kIn) + "node { name: 'call' op: 'f' input: 'x' }" + Function("f", op, output)),
              {{"x:0"}, {"call:0"}, {}});
    return graph ? "" : graph.error().message;
  };
  EXPECT_EQ(error("TopKV2", "indices:0"), "");
  EXPECT_EQ(error("TopKV2", "indexes:0"), "node \"call/op\" (op \"TopKV2\") has no output \"indexes\"");
  EXPECT_EQ(error("NoOp", "y:0"), "node \"call/op\" (op \"NoOp\") has no output \"y\"");
}

TEST(Graph, PutsEveryNodeAfterItsInputs) {
  const auto graph = BuildOrFail(std::string(R"(
    node { name: 'c' op: 'Add' input: 'b' input: 'x' }
    node { name: 'b' op: 'Neg' input: 'x' })") +
                                     kIn,
                                 {{"x:0"}, {"c:0"}, {}});
  EXPECT_THAT(Names(graph), ElementsAre("x", "b", "c"));
  EXPECT_THAT(graph.nodes[2].inputs, ElementsAre(Edge{1, 0}, Edge{0, 0}));
}

TEST(Graph, LeavesOutUnusedNodes) {
  const auto graph = BuildOrFail(std::string(R"(
    node { name: 'b' op: 'Neg' input: 'x' input: '^ignored' }
    node { name: 'ignored' op: 'NoOp' }
    node { name: 'other' op: 'Svd' input: 'x' })") +
                                     kIn,
                                 {{"x:0"}, {"b:0"}, {}});
  EXPECT_THAT(Names(graph), ElementsAre("x", "b"));
}

TEST(Graph, KeepsANodeWithAnEffectBehindAControlEdge) {
  const auto graph = BuildOrFail(std::string(R"(
    node { name: 'b' op: 'Identity' input: 'x' input: '^check' }
    node { name: 'check' op: 'Assert' input: 'x' })") +
                                     kIn,
                                 {{"x:0"}, {"b:0"}, {}});
  EXPECT_THAT(Names(graph), ElementsAre("x", "check", "b"));
}

TEST(Graph, InlinesCallsOfFunctions) {
  const auto graph = BuildOrFail(std::string(R"(
    node { name: 'call' op: 'StatefulPartitionedCall' input: 'x' attr { key: 'f' value { func { name: 'f' } } }
           attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'old' op: 'f' input: 'call' })") +
                                     kFunction + kIn,
                                 {{"x:0"}, {"old:0"}, {}});
  EXPECT_THAT(Names(graph), ElementsAre("x", "call/n", "call/out", "old/n", "old/out"));
  EXPECT_THAT(Find(graph, "old/n").inputs, ElementsAre(Edge{2, 0}));
  EXPECT_EQ(Find(graph, "call/n").attributes.Type("T"), tensor::DType::kFloat);
}

TEST(Graph, GivesAFunctionTheAttributesInTheFunctionNameOfTheCall) {
  const auto graph = BuildOrFail(std::string(R"(
    node { name: 'call' op: 'PartitionedCall' input: 'x' attr { key: 'f' value { func { name: 'g'
           attr { key: 'U' value { type: DT_INT32 } } } } } }
    library { function {
      signature { name: 'g' input_arg { name: 'a' } output_arg { name: 'r' } }
      node_def { name: 'inner' op: 'PartitionedCall' input: 'a' attr { key: 'f' value { func { name: 'f'
                 attr { key: 'T' value { placeholder: 'U' } } } } } }
      ret { key: 'r' value: 'inner:output:0' } } })") +
                                     kFunction + kIn,
                                 {{"x:0"}, {"call:0"}, {}});
  EXPECT_EQ(Find(graph, "call/inner/n").attributes.Type("T"), tensor::DType::kInt32);
}

TEST(Graph, RejectsFunctionsThatCallThemselves) {
  const auto refused = Build(Def(std::string(R"(
    node { name: 'call' op: 'f' input: 'x' }
    library { function {
      signature { name: 'f' input_arg { name: 'a' } output_arg { name: 'r' } }
      node_def { name: 'again' op: 'f' input: 'a' }
      ret { key: 'r' value: 'again:r:0' } } })") +
                                 kIn),
                             {{"x:0"}, {"call:0"}, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_THAT(refused.error().message, HasSubstr("recursion"));
}

// A graph that calls f0, which calls f1 twice, and so on for `levels` levels. The last level calls "leaf", which is
// called 2^levels times in all.
std::string CallsOfLeaf(int levels, const std::string& leaf) {
  std::string text = std::string(kIn) + "node { name: 'call' op: 'f0' input: 'x' } library {";
  for (int level = 0; level < levels; ++level) {
    const std::string next = level == levels - 1 ? "leaf" : fmt::format("f{}", level + 1);
    text += fmt::format(
        "function {{ signature {{ name: 'f{0}' input_arg {{ name: 'a' }} output_arg {{ name: 'r' }} }} "
        "node_def {{ name: 'p' op: '{1}' input: 'a' }} node_def {{ name: 'q' op: '{1}' input: 'a' input: '^p' }} "
        "ret {{ key: 'r' value: 'q:r:0' }} }} ",
        level, next);
  }
  return text + "function { signature { name: 'leaf' input_arg { name: 'a' } output_arg { name: 'r' } } " + leaf +
         "} } ";
}

std::string RefusalOf(const std::string& text) {
  const auto built = Build(Def(text), {{"x:0"}, {"call:0"}, {}});
  return built ? "" : ToString(built.error());
}

TEST(Graph, RejectsFunctionsThatCallEachOtherTwiceAtEveryLevel) {
  EXPECT_THAT(RefusalOf(CallsOfLeaf(40, "ret { key: 'r' value: 'a' }")),
              HasSubstr("RESOURCE_EXHAUSTED: the graph has more than"));
}

TEST(Graph, SharesTheConstantsOfAFunctionBetweenItsCalls) {
  const auto graph =
      BuildOrFail(CallsOfLeaf(1,
                              "node_def { name: 'c' op: 'Const' attr { key: 'value' value { s: 'much' } } } "
                              "ret { key: 'r' value: 'c:output:0' }") +
                      "node { name: 'again' op: 'leaf' input: 'x' }",
                  {{"x:0"}, {"call:0", "again:0"}, {}});
  EXPECT_EQ(Find(graph, "call/q/c").attributes.Find("value"), Find(graph, "again/c").attributes.Find("value"));
}

TEST(Graph, RejectsConstantsWhoseInlinedCopiesExceedTheByteLimit) {
  const std::string constant = fmt::format(
      "node_def {{ name: 'c' op: 'Const' attr {{ key: 'value' value {{ s: '{}' }} }} }} ", std::string(1 << 20, 'c'));
  EXPECT_THAT(RefusalOf(CallsOfLeaf(13, constant + "ret { key: 'r' value: 'c:output:0' }")),
              HasSubstr("RESOURCE_EXHAUSTED: the graph needs more than 4294967296 bytes"));
}

TEST(Graph, RejectsCallsWhoseInlinedAttributesExceedTheByteLimit) {
  const std::string text =
      fmt::format(
          "node_def {{ name: 'c' op: 'nothing' attr {{ key: 'value' value {{ s: '{}' }} }} }} ret {{ key: 'r' "
          "value: 'c:r:0' }}",
          std::string(1 << 20, 'c')) +
      "} function { signature { name: 'nothing' output_arg { name: 'r' } } node_def { name: 'c' op: 'Const' } "
      "ret { key: 'r' value: 'c:output:0' }";
  EXPECT_THAT(RefusalOf(CallsOfLeaf(13, text)),
              HasSubstr("RESOURCE_EXHAUSTED: the graph needs more than 4294967296 bytes"));
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Graph, RejectsTooManyInputs) {
  const std::string sum =
      "node_def { name: 's' op: 'AddN' " + Repeated("input: 'a' ", 1000) + "} ret { key: 'r' value: 's:sum:0' }";
  EXPECT_THAT(RefusalOf(CallsOfLeaf(13, sum)),
              HasSubstr("RESOURCE_EXHAUSTED: the graph needs more than 5000000 edges"));
}

TEST(Graph, CountsReadsOfTensorFlow1VariablesAsNodes) {
  const std::string sum =
      "node_def { name: 's' op: 'AddN' " + Repeated("input: 'a' ", 1000) + "} ret { key: 'r' value: 's:sum:0' }";
  std::string text = CallsOfLeaf(10, sum);
  text.replace(text.find("op: 'f0' input: 'x'"), 19, "op: 'f0' input: 'v'");
  EXPECT_THAT(RefusalOf(text + "node { name: 'v' op: 'VariableV2' }"),
              HasSubstr("RESOURCE_EXHAUSTED: the graph needs more than 1000000 nodes"));
}

// Returns the CPU time of f in seconds. Other processes may use the machine too, so the wall time would be useless.
template <typename F>
double SecondsOf(const F& f) {
  const std::clock_t began = std::clock();
  f();
  return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
}
constexpr double kSoonSeconds = 40;  // A linear algorithm takes 3 seconds, a quadratic one takes minutes.

TEST(Graph, IndexesTheNodesOfAFunctionOnceForAllItsCalls) {
  std::string leaf;
  for (int i = 0; i < 50'000; ++i) leaf += fmt::format("node_def {{ name: 'n{}' op: 'Neg' }} ", i);
  const auto def = Def(CallsOfLeaf(14, leaf + "ret { key: 'r' value: 'a' }"));
  EXPECT_LT(SecondsOf([&] { EXPECT_TRUE(Build(def, {{"x:0"}, {"call:0"}, {}})); }), kSoonSeconds);
}

TEST(Graph, FindsManyConditionsInLinearTime) {
  std::string text = kIn;
  std::vector<std::string> outputs;
  for (int i = 0; i < 50'000; ++i) {
    text += fmt::format(
        "node {{ name: 'p{0}' op: 'Const' }} node {{ name: 's{0}' op: 'Switch' input: 'x' input: 'p{0}' }} "
        "node {{ name: 'm{0}' op: 'Merge' input: 's{0}' input: 's{0}:1' }} ",
        i);
    outputs.push_back(fmt::format("m{}:0", i));
  }
  const auto def = Def(text);
  EXPECT_LT(SecondsOf([&] { EXPECT_TRUE(Build(def, {{"x:0"}, outputs, {}})); }), kSoonSeconds);
}

TEST(Graph, RejectsANodeThatReadsManyConditionsInLinearTime) {
  constexpr int kConditions = 200'000;
  std::string text = kIn, sum = "node { name: 'call' op: 'AddN' ";
  for (int i = 0; i < kConditions; ++i) {
    text += fmt::format(
        "node {{ name: 'p{0}' op: 'Const' }} node {{ name: 's{0}' op: 'Switch' input: 'x' input: 'p{0}' }} ", i);
    sum += fmt::format("input: 's{}' ", i);
  }
  const auto def = Def(text + sum + "}");
  const auto refuse = [&] {
    EXPECT_THAT(Build(def, {{"x:0"}, {"call:0"}, {}}).error().message, HasSubstr("too deep"));
  };
  EXPECT_LT(SecondsOf(refuse), kSoonSeconds);
}

// WaitedFor returns kWaitedFor control inputs for a node, NodesWaitedFor the nodes that they name.
constexpr int kWaitedFor = 30'000;
std::string WaitedFor() {
  std::string inputs;
  for (int i = 0; i < kWaitedFor; ++i) inputs += fmt::format("input: '^w{}' ", i);
  return inputs;
}
std::string NodesWaitedFor() {
  std::string nodes;
  for (int i = 0; i < kWaitedFor; ++i) nodes += fmt::format("node {{ name: 'w{}' op: 'NoOp' }} ", i);
  return nodes;
}

TEST(Graph, FindsAConditionWithManyControlInputsAndReadersInLinearTime) {
  std::string text = kIn + NodesWaitedFor() + "node { name: 'p' op: 'Const' } node { name: 'copy' op: 'Identity' " +
                     "input: 'p' " + WaitedFor() + "} node { name: 's' op: 'Switch' input: 'x' input: 'copy' " +
                     WaitedFor() + "} ";
  std::string sum = "node { name: 'sum' op: 'AddN' ";
  for (int i = 0; i < kWaitedFor; ++i) {
    text += fmt::format("node {{ name: 'n{}' op: 'Identity' input: 's:1' }} ", i);
    sum += fmt::format("input: 'n{}' ", i);
  }
  const auto def = Def(text + sum + "} node { name: 'm' op: 'Merge' input: 's' input: 'sum' }");
  EXPECT_LT(SecondsOf([&] { EXPECT_TRUE(Build(def, {{"x:0"}, {"m:0"}, {}})); }), kSoonSeconds);
}

TEST(Graph, FindsALoopWithManyControlInputsAndVariablesInLinearTime) {
  std::string text = kIn + NodesWaitedFor() + "node { name: 'e' op: 'Enter' input: 'x' " + WaitedFor() +
                     "} node { name: 'c' op: 'LoopCond' input: 'm0' " + WaitedFor() + "} ";
  for (int i = 0; i < kWaitedFor; ++i) {
    text += fmt::format(
        "node {{ name: 'm{0}' op: 'Merge' input: 'e' input: 'n{0}' }} node {{ name: 's{0}' op: 'Switch' input: "
        "'m{0}' input: 'c' }} node {{ name: 'n{0}' op: 'NextIteration' input: 's{0}:1' input: '^s{1}' }} ",
        i, (i + 1) % kWaitedFor);
  }
  const auto def = Def(text + "node { name: 'y' op: 'Exit' input: 's0' }");
  EXPECT_LT(SecondsOf([&] { EXPECT_TRUE(Build(def, {{"x:0"}, {"y:0"}, {}})); }), kSoonSeconds);
}

TEST(Graph, RejectsLoopsWithTooManyVariables) {
  std::string text = kIn;
  for (int i = 0; i < 3'000; ++i) {
    text += fmt::format(
        "node {{ name: 'e{0}' op: 'Enter' input: 'x' }} node {{ name: 'm{0}' op: 'Merge' input: 'e{0}' input: 'n{0}' "
        "}} "
        "node {{ name: 's{0}' op: 'Switch' input: 'm{0}' input: 'c' }} node {{ name: 'n{0}' op: 'NextIteration' input: "
        "'s{0}:1' }} ",
        i);
  }
  text += "node { name: 'c' op: 'LoopCond' input: 'all' } node { name: 'all' op: 'AddN' ";
  for (int i = 0; i < 3'000; ++i) text += fmt::format("input: 'm{}' ", i);
  text += "} node { name: 'call' op: 'Exit' input: 's0' }";
  EXPECT_THAT(RefusalOf(text), HasSubstr("RESOURCE_EXHAUSTED: conditions and loops have more than 5000000 edges"));
}

TEST(Graph, RejectsCyclesAndLoopsWithoutEnter) {
  const auto cycle =
      Build(Def("node { name: 'a' op: 'Neg' input: 'b' } node { name: 'b' op: 'Neg' input: 'a' }"), {{}, {"a:0"}, {}});
  ASSERT_FALSE(cycle);
  EXPECT_EQ(cycle.error().code, Code::kDataLoss);
  const auto loop = Build(Def(std::string(R"(
    node { name: 'merge' op: 'Merge' input: 'x' input: 'next' }
    node { name: 'next' op: 'NextIteration' input: 'merge' })") +
                              kIn),
                          {{"x:0"}, {"merge:0"}, {}});
  ASSERT_FALSE(loop);
  EXPECT_EQ(loop.error().code, Code::kUnimplemented);
  EXPECT_THAT(loop.error().message, HasSubstr("loop"));
}

TEST(Graph, GivesIfTheGraphsOfItsBranches) {
  const auto graph =
      BuildOrFail(std::string(kIn) + kIf + Function("yes", "Exp") + Function("no", "Neg"), {{"x:0"}, {"if:0"}, {}});
  EXPECT_THAT(Names(graph), ElementsAre("x", "if"));
  EXPECT_THAT(graph.nodes[1].bodies, ElementsAre(0, 1));
  EXPECT_FALSE(graph.nodes[1].has_effect);
  ASSERT_EQ(graph.bodies.size(), 2U);
  EXPECT_THAT(Names(graph.bodies[1]), ElementsAre("no/a", "no/op"));
  EXPECT_THAT(graph.bodies[1].arguments, ElementsAre(0));
  EXPECT_THAT(graph.bodies[1].outputs, ElementsAre(Edge{1, 0}));
}

TEST(Graph, GivesIfAnEffectWhenABranchHasOne) {
  const std::string text =
      std::string(kIn) + "node { name: 'y' op: 'Identity' input: 'x' input: '^if' }" + kIf + Function("no", "Neg") + R"(
    library { function {
      signature { name: 'yes' input_arg { name: 'a' } output_arg { name: 'r' } }
      node_def { name: 'check' op: 'Assert' input: 'a' }
      node_def { name: 'op' op: 'Identity' input: 'a' input: '^check' }
      ret { key: 'r' value: 'op:output:0' } } })";
  EXPECT_THAT(Names(BuildOrFail(text, {{"x:0"}, {"y:0"}, {}})), ElementsAre("x", "if", "y"));
}

TEST(Graph, LeavesOutTheBodiesOfUnusedNodes) {
  const auto graph = BuildOrFail(std::string(kIn) + "node { name: 'y' op: 'Identity' input: 'x' input: '^if' }" + kIf +
                                     Function("yes", "Unheard") + Function("no", "Neg"),
                                 {{"x:0"}, {"y:0"}, {}});
  EXPECT_THAT(Names(graph), ElementsAre("x", "y"));
  for (const auto& body : graph.bodies) EXPECT_TRUE(body.nodes.empty());
}

TEST(Graph, BuildsAFunctionThatCallsItselfInABranchOnce) {
  const auto graph = BuildOrFail(std::string(kIn) + kIf + Function("no", "Neg") + R"(
    library { function {
      signature { name: 'yes' input_arg { name: 'a' } output_arg { name: 'r' } }
      node_def { name: 'again' op: 'If' input: 'a' input: 'a'
                 attr { key: 'then_branch' value { func { name: 'yes' } } }
                 attr { key: 'else_branch' value { func { name: 'no' } } } }
      ret { key: 'r' value: 'again:output:0' } } })",
                                 {{"x:0"}, {"if:0"}, {}});
  EXPECT_THAT(graph.bodies[0].nodes[1].bodies, ElementsAre(0, 1));
}

TEST(Graph, RejectsBodiesThatAreMissingOrHaveOtherArguments) {
  const auto error = [](const std::string& text) {
    const auto built = Build(Def(std::string(kIn) + kIf + text), {{"x:0"}, {"if:0"}, {}});
    return built ? "" : built.error().message;
  };
  EXPECT_THAT(error(Function("yes", "Exp")), HasSubstr("\"no\", which the model does not define"));
  EXPECT_THAT(error(Function("yes", "Exp") + R"(
      library { function { signature { name: 'no' output_arg { name: 'r' } } ret { key: 'r' value: 'a' } } })"),
              HasSubstr("calls \"no\" with 1 arguments instead of 0"));
}

// tf.compat.v1.cond: y = x > 0 ? x + x : -x, as TensorFlow 1 writes it.
constexpr char kOldCondition[] = R"(
  node { name: 'p' op: 'Greater' input: 'x' input: 'x' }
  node { name: 'c/Switch' op: 'Switch' input: 'p' input: 'p' }
  node { name: 'c/t' op: 'Identity' input: 'c/Switch:1' }
  node { name: 'c/id' op: 'Identity' input: 'p' }
  node { name: 'c/add/Switch' op: 'Switch' input: 'x' input: 'c/id' }
  node { name: 'c/one' op: 'Const' input: '^c/t' }
  node { name: 'c/add' op: 'Add' input: 'c/add/Switch:1' input: 'c/one' }
  node { name: 'c/neg/Switch' op: 'Switch' input: 'x' input: 'c/id' }
  node { name: 'c/neg' op: 'Neg' input: 'c/neg/Switch' }
  node { name: 'c/Merge' op: 'Merge' input: 'c/neg' input: 'c/add' } )";

TEST(Graph, TurnsSwitchAndMergeIntoIf) {
  const auto graph = BuildOrFail(std::string(kIn) + kOldCondition, {{"x:0"}, {"c/Merge:0"}, {}});
  const Node& condition = Find(graph, "c/Merge");
  EXPECT_EQ(condition.op, "If");
  ASSERT_EQ(condition.bodies.size(), 2U);
  const auto body = [&](size_t at) { return Names(graph.bodies[static_cast<size_t>(condition.bodies[at])]); };
  EXPECT_THAT(body(0), testing::Contains("c/add"));
  EXPECT_THAT(body(0), testing::Not(testing::Contains("c/neg")));
  EXPECT_THAT(body(1), testing::Contains("c/neg"));
}

TEST(Graph, RejectsAValueOfABranchThatIsUsedOutsideOfTheCondition) {
  for (const char* output : {"c/add:0", "c/neg:0", "c/Switch:1"}) {
    const auto refused = Build(Def(std::string(kIn) + kOldCondition), {{"x:0"}, {output}, {}});
    ASSERT_FALSE(refused) << output;
    EXPECT_EQ(refused.error().code, Code::kUnimplemented);
    EXPECT_THAT(refused.error().message, HasSubstr("Switch\" (op \"Switch\")"));
  }
}

TEST(Graph, RejectsConditionsThatAreNestedTooDeeply) {
  std::string text = kIn;
  for (int i = 0; i < 100; ++i) {
    text += fmt::format(
        "node {{ name: 'p{0}' op: 'Const' }} node {{ name: 's{0}' op: 'Switch' input: '{1}' input: 'p{0}' }} ", i,
        i == 0 ? "x" : fmt::format("s{}:1", i - 1));
  }
  EXPECT_THAT(Build(Def(text), {{"x:0"}, {"s99:0"}, {}}).error().message, HasSubstr("too deep"));
}

// tf.compat.v1.while_loop: while (y < limit) y = -y.
constexpr char kOldLoop[] = R"(
  node { name: 'limit' op: 'Const' }
  node { name: 'w/Enter' op: 'Enter' input: 'x' attr { key: 'frame_name' value { s: 'w/frame' } } }
  node { name: 'w/limit' op: 'Enter' input: 'limit' attr { key: 'frame_name' value { s: 'w/frame' } }
         attr { key: 'is_constant' value { b: true } } }
  node { name: 'w/Merge' op: 'Merge' input: 'w/Enter' input: 'w/Next' }
  node { name: 'w/Less' op: 'Less' input: 'w/Merge' input: 'w/limit' }
  node { name: 'w/Cond' op: 'LoopCond' input: 'w/Less' }
  node { name: 'w/Switch' op: 'Switch' input: 'w/Merge' input: 'w/Cond' }
  node { name: 'w/Identity' op: 'Identity' input: 'w/Switch:1' }
  node { name: 'w/neg' op: 'Neg' input: 'w/Identity' }
  node { name: 'w/Next' op: 'NextIteration' input: 'w/neg' }
  node { name: 'w/Exit' op: 'Exit' input: 'w/Switch' } )";

TEST(Graph, TurnsFramesIntoWhile) {
  const auto graph = BuildOrFail(std::string(kIn) + kOldLoop, {{"x:0"}, {"w/Exit:0"}, {}});
  EXPECT_THAT(Names(graph), ElementsAre("x", "limit", "w/frame"));
  const Node& loop = Find(graph, "w/frame");
  EXPECT_EQ(loop.op, "While");
  EXPECT_THAT(loop.inputs, ElementsAre(Edge{0, 0}, Edge{1, 0}));
  const Graph& step = graph.bodies[static_cast<size_t>(loop.bodies[1])];
  EXPECT_THAT(Names(step), ElementsAre("w/Merge", "w/limit", "w/Identity", "w/neg"));
  EXPECT_THAT(step.outputs, ElementsAre(Edge{3, 0}, Edge{1, 0}));
}

TEST(Graph, RejectsLoopsThatDoNotFollowTensorFlowsPattern) {
  std::string text = std::string(kIn) + kOldLoop;
  const auto error = [&](const std::string& what, const std::string& by, const std::string& output) {
    std::string changed = text;
    changed.replace(changed.find(what), what.size(), by);
    const auto built = Build(Def(changed), {{"x:0"}, {output}, {}});
    return built ? "" : built.error().message;
  };
  EXPECT_THAT(
      error("op: 'Exit' input: 'w/Switch'", "op: 'Exit' input: 'w/Merge'", "w/Exit:0"),
      HasSubstr("node \"w/Exit\" (op \"Exit\"): the input of the node is not the last value of a loop's variable"));
  EXPECT_THAT(error("op: 'LoopCond'", "op: 'Identity'", "w/Exit:0"), HasSubstr("node \"w/Exit\""));
  EXPECT_THAT(error("input: 'w/Enter' input: 'w/Next'", "input: 'w/Enter'", "w/Exit:0"), HasSubstr("two inputs"));
  EXPECT_THAT(error("", "", "w/neg:0"), HasSubstr("outside of the condition or loop"));
}

TEST(Graph, NamesMissingNodesArgumentsAndOutputs) {
  EXPECT_THAT(Build(Def("node { name: 'a' op: 'Neg' input: 'b' }"), {{}, {"a:0"}, {}}).error().message,
              HasSubstr("no node \"b\""));
  EXPECT_THAT(Build(Def(""), {{"x:0"}, {}, {}}).error().message, HasSubstr("no node \"x\" to feed"));
  EXPECT_THAT(
      Build(Def(std::string(kFunction) + kIn + "node { name: 'c' op: 'f' }"), {{"x:0"}, {"c:0"}, {}}).error().message,
      HasSubstr("with 0 arguments instead of 1"));
  EXPECT_THAT(Build(Def(std::string(kFunction) + kIn + "node { name: 'c' op: 'f' input: 'x' }"), {{"x:0"}, {"c:3"}, {}})
                  .error()
                  .message,
              HasSubstr("no output 3"));
}

TEST(Graph, TurnsReferenceVariablesIntoResources) {
  const auto graph = BuildOrFail(R"(
    node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'one' op: 'Const' }
    node { name: 'set' op: 'Assign' input: 'v' input: 'one' }
    node { name: 'y' op: 'Neg' input: 'v' })",
                                 {{}, {"y:0"}, {"set"}});
  EXPECT_EQ(Find(graph, "v").op, "VarHandleOp");
  EXPECT_EQ(Find(graph, "set").op, "AssignVariableOp");
  EXPECT_EQ(Find(graph, "set").inputs[0].node, static_cast<int>(&Find(graph, "v") - graph.nodes.data()));
  EXPECT_EQ(graph.nodes[static_cast<size_t>(Find(graph, "y").inputs[0].node)].op, "ReadVariableOp");
}

TEST(Graph, ReadsATensorFlow1VariableAfterItsAssignmentIfTheAssignmentIsReadAsAValue) {
  const auto graph = BuildOrFail(R"(
    node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'one' op: 'Const' }
    node { name: 'set' op: 'Assign' input: 'v' input: 'one' }
    node { name: 'again' op: 'Assign' input: 'set' input: 'one' }
    node { name: 'y' op: 'Neg' input: 'again' })",
                                 {{}, {"y:0", "set:0"}, {}});
  EXPECT_THAT(Names(graph), ElementsAre("one", "v", "set", "again", "v/read_for/y", "y", "v/read_for/set:0"));
  EXPECT_EQ(Find(graph, "again").inputs[0], (Edge{1, 0}));
  EXPECT_EQ(Find(graph, "y").inputs[0], (Edge{4, 0}));
  EXPECT_THAT(graph.outputs, ElementsAre(Edge{5, 0}, Edge{6, 0}));
  EXPECT_TRUE(CheckOutputs(graph));
}

TEST(Graph, FeedsAnInnerTensorInsteadOfComputingIt) {
  const auto graph = BuildOrFail(R"(
    node { name: 'deep' op: 'Svd' }
    node { name: 'y' op: 'Neg' input: 'deep:1' })",
                                 {{"deep:1"}, {"y:0"}, {}});
  EXPECT_THAT(Names(graph), ElementsAre("deep", "y"));
  EXPECT_EQ(graph.nodes[0].op, "Placeholder");
}

TEST(Graph, BuildsAVeryLongChainWithoutRecursion) {
  std::string text = kIn;
  for (int i = 0; i < 20'000; ++i)
    text += fmt::format("node {{ name: 'n{}' op: 'Neg' input: '{}' }} ", i, i == 0 ? "x" : fmt::format("n{}", i - 1));
  EXPECT_EQ(BuildOrFail(text, {{"x:0"}, {"n19999:0"}, {}}).nodes.size(), 20'001U);
}

}  // namespace
}  // namespace longshore::graph
