// Compares the type rules of graph/ with TensorFlow's answers and with the kernels: what a rule says is true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "serving-node/engine/interpreter/mutator.h"
#include "serving-node/engine/interpreter/one_op.h"
#include "serving-node/graph/ops.h"
#include "tests/seeds/seeds.h"

namespace longshore::engine::interpreter {
namespace {

using graph::Type;
using tensor::Shape;
using tensor::Tensor;

constexpr int kTriesPerRule = 40;
constexpr size_t kRuleRunBytesMax = 64 << 10;  // A random input may ask for an output of a huge size.

// What a rule is told of an input.
enum class Told { kValue, kShape, kSomeSizes, kRank, kNothing };

Type TypeTold(const Tensor& value, Told told, Mutator& random) {
  Type type{value.type(), value.shape(), std::nullopt};
  if (told == Told::kValue) type.value = value;
  if (told == Told::kNothing) type.shape.reset();
  for (size_t i = 0; told != Told::kNothing && i < type.shape->size(); ++i) {
    if (told == Told::kRank || (told == Told::kSomeSizes && random.Below(2) == 0)) (*type.shape)[i] = -1;
  }
  return type;
}

bool Covers(const Type& type, const Tensor& value) {
  if (type.type != tensor::DType::kInvalid && type.type != value.type()) return false;
  if (!type.shape) return true;
  return std::ranges::equal(*type.shape, value.shape(),
                            [](int64_t said, int64_t is) { return said < 0 || said == is; });
}

std::string TextOf(const std::vector<Type>& types) {
  std::string text;
  for (const Type& type : types) {
    text += tensor::DTypeName(type.type);
    text += type.shape ? tensor::ToString(*type.shape) : "[?]";
    text += type.value ? " known; " : "; ";
  }
  return text;
}

// The node "op" of a case, which has no state.
std::optional<graph::Node> NodeOf(const OneOp& one, const Json& json) {
  if (json.contains("graph")) return std::nullopt;
  const auto graph = graph::Build(one.def, one.wanted);
  if (!graph) return std::nullopt;
  const auto found = std::ranges::find(graph->nodes, "op", &graph::Node::name);
  return found == graph->nodes.end() ? std::nullopt : std::optional(*found);
}

TEST(TypeRules, SayWhatTheKernelsAnswer) {
  Mutator random(seeds::First());
  std::set<std::string> told_whole;  // Ops whose rule told the whole type for known shapes.
  for (const auto& json : OpCases()) {
    const OneOp one(json);
    const auto node = NodeOf(one, json);
    const auto plan = one.MakePlan();
    if (!node || !plan) continue;
    const graph::TypeRule rule = graph::FindOp(node->op).type;
    if (rule == nullptr) continue;
    for (int attempt = 0; attempt <= kTriesPerRule; ++attempt) {
      auto fed = one.fed;
      for (auto& [name, value] : fed) value = attempt == 0 ? value : random.Mutate(value);
      kernels::Resources resources;
      const auto answer = plan->Run(fed, {}, resources, kRuleRunBytesMax);
      std::vector<Tensor> inputs;
      for (size_t i = 0; i < fed.size(); ++i) inputs.push_back(fed.at(fmt::format("in{}", i)));
      std::vector<Type> types;
      for (const Tensor& input : inputs) {
        const auto told = attempt % 2 == 0 ? Told::kValue : Told{static_cast<int>(random.Below(5))};
        types.push_back(TypeTold(input, told, random));
      }
      const std::vector<Type> said = rule(*node, types);
      if (!answer) continue;
      for (size_t i = 0; i < std::min(said.size(), answer->size()); ++i) {
        EXPECT_TRUE(Covers(said[i], (*answer)[i]))
            << json.at("at") << " " << node->op << " of " << TextOf(types) << "output " << i << " is "
            << tensor::DTypeName((*answer)[i].type()) << tensor::ToString((*answer)[i].shape()) << "; the rule says "
            << TextOf(said);
      }
      if (attempt == 0 && said.size() >= answer->size() && std::ranges::all_of(said, &Type::is_static))
        told_whole.insert(node->op);
    }
  }
  EXPECT_GT(told_whole.size(), 150U);
}

// Steps that only share or move bytes rely on a rule to refuse what the kernel refuses.
TEST(TypeRules, OfMovesRefuseWhatTheKernelsRefuse) {
  Mutator random(seeds::First());
  // The kernel refuses indices that are out of range, which no type shows.
  const std::set<std::string> by_values = {"Gather", "GatherV2", "GatherNd", "OneHot"};
  for (const auto& json : OpCases()) {
    const OneOp one(json);
    const auto node = NodeOf(one, json);
    const auto plan = one.MakePlan();
    if (!node || !plan || by_values.contains(node->op)) continue;
    const graph::Op& op = graph::FindOp(node->op);
    if (op.type == nullptr || op.alias == graph::Alias::kNo) continue;
    for (int attempt = 0; attempt < kTriesPerRule; ++attempt) {
      auto fed = one.fed;
      for (auto& [name, value] : fed) value = random.Mutate(value);
      kernels::Resources resources;
      const auto answer = plan->Run(fed, {}, resources, kRuleRunBytesMax);
      if (answer || answer.error().code == Code::kResourceExhausted) continue;
      std::vector<Type> types;
      for (size_t i = 0; i < fed.size(); ++i)
        types.push_back(TypeTold(fed.at(fmt::format("in{}", i)), Told::kValue, random));
      const std::vector<Type> said = op.type(*node, types);
      EXPECT_TRUE(said.empty() || !said[0].is_static()) << json.at("at") << " " << node->op << " of " << TextOf(types)
                                                        << answer.error().message << "; the rule says " << TextOf(said);
    }
  }
}

}  // namespace
}  // namespace longshore::engine::interpreter
