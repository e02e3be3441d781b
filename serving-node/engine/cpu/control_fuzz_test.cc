// Runs randomly changed graphs with branches, loops and lists. Each gives an answer or an error, without a crash and
// within the time limit, and plans and programs give the same.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <random>

#include "serving-node/engine/cpu/compiled.h"
#include "serving-node/engine/interpreter/plan.h"
#include "serving-node/graph/build.h"
#include "tests/seeds/seeds.h"

namespace longshore::engine::cpu {
namespace {

using tensor::Tensor;

constexpr int kTries = 4'000;
constexpr size_t kRunBytesMax = 256 << 10;
constexpr kernels::RunLimits kLimits{.time_max = std::chrono::milliseconds(50), .steps_max = 50, .depth_max = 10};

// Computes y from x through a loop, a branch and a list of TensorFlow 2, and a condition and a loop of TensorFlow 1.
constexpr char kGraph[] = R"(
  node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
  node { name: 'limit' op: 'Const'
      attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 9 } } } }
  node { name: 'any' op: 'Const'
      attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: -1 } } } }
  node { name: 'one' op: 'Const'
      attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
  node { name: 'two' op: 'Const'
      attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 2 } } } }
  node { name: 'list' op: 'TensorListReserve' input: 'any' input: 'two'
         attr { key: 'element_dtype' value { type: DT_FLOAT } } }
  node { name: 'while' op: 'While' input: 'x' input: 'list' attr { key: 'cond' value { func { name: 'cond' } } }
         attr { key: 'body' value { func { name: 'body' } } } }
  node { name: 'if' op: 'If' input: 'x' input: 'while' input: 'while:1'
         attr { key: 'then_branch' value { func { name: 'body' } } }
         attr { key: 'else_branch' value { func { name: 'else' } } } }
  node { name: 'get' op: 'TensorListGetItem' input: 'if:1' input: 'one' input: 'any' }
  node { name: 'p' op: 'Greater' input: 'get' input: 'x' }
  node { name: 'c/id' op: 'Identity' input: 'p' }
  node { name: 'c/Switch' op: 'Switch' input: 'get' input: 'c/id' }
  node { name: 'c/add' op: 'AddV2' input: 'c/Switch:1' input: 'c/Switch:1' }
  node { name: 'c/neg' op: 'Neg' input: 'c/Switch' }
  node { name: 'c/Merge' op: 'Merge' input: 'c/neg' input: 'c/add' }
  node { name: 'w/Enter' op: 'Enter' input: 'c/Merge' attr { key: 'frame_name' value { s: 'w' } } }
  node { name: 'w/limit' op: 'Enter' input: 'limit' attr { key: 'frame_name' value { s: 'w' } } }
  node { name: 'w/Merge' op: 'Merge' input: 'w/Enter' input: 'w/Next' }
  node { name: 'w/Less' op: 'Less' input: 'w/Merge' input: 'w/limit' }
  node { name: 'w/Cond' op: 'LoopCond' input: 'w/Less' }
  node { name: 'w/Switch' op: 'Switch' input: 'w/Merge' input: 'w/Cond' }
  node { name: 'w/sum' op: 'AddV2' input: 'w/Switch:1' input: 'w/limit' }
  node { name: 'w/Next' op: 'NextIteration' input: 'w/sum' }
  node { name: 'y' op: 'Exit' input: 'w/Switch' }
  library {
    function {
      signature { name: 'cond' input_arg { name: 'a' } input_arg { name: 'l' } output_arg { name: 'r' } }
      node_def { name: 'c' op: 'Const'
          attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 5 } } } }
      node_def { name: 'less' op: 'Less' input: 'a' input: 'c:output:0' }
      ret { key: 'r' value: 'less:z:0' } }
    function {
      signature { name: 'body' input_arg { name: 'a' } input_arg { name: 'l' }
          output_arg { name: 'r' } output_arg { name: 's' } }
      node_def { name: 'c' op: 'Const'
          attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
      node_def { name: 'at' op: 'Const'
          attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
      node_def { name: 'sum' op: 'AddV2' input: 'a' input: 'c:output:0' }
      node_def { name: 'set' op: 'TensorListSetItem' input: 'l' input: 'at:output:0' input: 'sum:z:0' }
      ret { key: 'r' value: 'sum:z:0' } ret { key: 's' value: 'set:output_handle:0' } }
    function {
      signature { name: 'else' input_arg { name: 'a' } input_arg { name: 'l' }
          output_arg { name: 'r' } output_arg { name: 's' } }
      node_def { name: 'call' op: 'PartitionedCall' input: 'a' input: 'l'
          attr { key: 'f' value { func { name: 'body' } } } }
      ret { key: 'r' value: 'call:output:0' } ret { key: 's' value: 'call:output:1' } } } )";

class Mutator {
 public:
  void Mutate(tensorflow::GraphDef* def) {
    const int function = static_cast<int>(Below(6)) - 3;
    if (function < 0)
      MutateNode(def->mutable_node(), "");
    else
      MutateNode(def->mutable_library()->mutable_function(function)->mutable_node_def(), ":output:0");
  }
  size_t Below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }

 private:
  using Nodes = google::protobuf::RepeatedPtrField<tensorflow::NodeDef>;

  void MutateNode(Nodes* nodes, const std::string& suffix) {
    static constexpr const char* kOps[] = {"Switch", "Merge", "Enter", "Exit",     "NextIteration",      "LoopCond",
                                           "While",  "If",    "Case",  "Identity", "TensorListSetItem",  "Pack",
                                           "AddV2",  "NoOp",  "Const", "Assert",   "TensorListPushBack", "Less"};
    static constexpr const char* kFunctions[] = {"cond", "body", "else", "nothing"};
    auto& node = *nodes->Mutable(static_cast<int>(Below(static_cast<size_t>(nodes->size()))));
    const auto& other = nodes->Get(static_cast<int>(Below(static_cast<size_t>(nodes->size()))));
    switch (Below(7)) {
      case 0: node.add_input(other.name() + suffix); return;
      case 1: node.add_input("^" + other.name()); return;
      case 2: node.set_op(kOps[Below(std::size(kOps))]); return;
      case 3:
        for (auto& [name, value] : *node.mutable_attr()) {
          if (value.has_func()) value.mutable_func()->set_name(kFunctions[Below(4)]);
        }
        return;
      default: break;
    }
    if (node.input_size() == 0) return;
    std::string* input = node.mutable_input(static_cast<int>(Below(static_cast<size_t>(node.input_size()))));
    *input = Below(4) == 0 ? other.name() + ":1" : other.name() + suffix;
  }

  std::mt19937 random_{seeds::First()};
};

// Whether both results agree. Also true if one of them reached a limit of memory or time, because the other may then
// have succeeded.
bool AreAlike(const Result<std::vector<Tensor>>& of_plan, const Result<std::vector<Tensor>>& of_programs) {
  const auto is_at_limit = [](const auto& result) {
    return !result && result.error().code == Code::kResourceExhausted;
  };
  if (is_at_limit(of_plan) || is_at_limit(of_programs)) return true;
  if (!of_plan || !of_programs) return !of_plan && !of_programs;
  const Tensor& a = (*of_plan)[0];
  const Tensor& b = (*of_programs)[0];
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  return a.type() != tensor::DType::kFloat || std::ranges::equal(a.values<float>(), b.values<float>());
}

Result<std::vector<Tensor>> BuildAndRun(const tensorflow::GraphDef& def) {
  ASSIGN_OR_RETURN(auto graph, graph::Build(def, {{"x:0"}, {"y:0"}, {}}));
  interpreter::Unsupported unsupported;
  unsupported.Check(graph);
  RETURN_IF_ERROR(unsupported.ToStatus());
  kernels::Resources resources;
  ASSIGN_OR_RETURN(const auto plan, interpreter::Plan::Make(std::move(graph), {}, resources));
  const std::map<std::string, Tensor> fed = {{"x:0", Tensor::Of<float>({}, {2})}};
  const Compiled compiled(plan.ToGraph(), {.threads = 1, .limits = kLimits, .passes_off = {}},
                          std::make_shared<RunMemory>(), std::make_shared<Weights>());
  auto of_plan = plan.Run(fed, {}, resources, kRunBytesMax, nullptr, kLimits);
  const auto of_programs = compiled.Run(fed, {}, resources, kRunBytesMax);
  EXPECT_TRUE(AreAlike(of_plan, of_programs)) << def.DebugString();
  return of_plan;
}

TEST(ControlFuzz, NoGraphCrashesOrExceedsTheTimeLimit) {
  tensorflow::GraphDef original;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kGraph, &original));
  const auto whole = BuildAndRun(original);
  ASSERT_TRUE(whole) << ToString(whole.error());
  Mutator mutator;
  size_t refused = 0, answered = 0;
  for (int i = 0; i < kTries; ++i) {
    auto def = original;
    for (size_t changes = 1 + mutator.Below(3); changes > 0; --changes) mutator.Mutate(&def);
    ++(BuildAndRun(def) ? answered : refused);
  }
  EXPECT_GT(refused, 500U);
  EXPECT_GT(answered, 200U);
}

}  // namespace
}  // namespace longshore::engine::cpu
