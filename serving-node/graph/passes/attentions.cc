#include <algorithm>
#include <functional>
#include <optional>

#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"

namespace longshore::graph::passes {
namespace {

using tensor::DType;

// As it is written: Softmax of s, of SelectV2(mask, s, masked) or of s + mask, where s is scores, scores * scale or
// scores / (1 / scale).
struct Attention {
  Edge scores;
  std::optional<Edge> mask;
  float scale = 1;
  float masked = 0;  // In place of scores where a mask of bools does not hold.
};

class Matching {
 public:
  Matching(const Rewrite& rewrite, const Types& types) : rewrite_(rewrite), types_(types) {}

  std::optional<Attention> At(size_t node) const {
    const Node& root = rewrite_.from().nodes[node];
    if (root.op != "Softmax" || root.inputs.size() != 1) return std::nullopt;
    const Type& whole = types_.at(root.inputs[0]);
    if (!whole.is_static() || whole.type != DType::kFloat || whole.shape->empty() ||
        tensor::ElementCount(*whole.shape).value_or(0) == 0)
      return std::nullopt;
    Attention found{.scores = root.inputs[0], .mask = {}};
    const bool is_masked = TakeSelect(found) || TakeSum(found);
    return TakeScale(found) || is_masked ? std::optional(found) : std::nullopt;
  }

 private:
  bool TakeSelect(Attention& found) const {
    const Node* select = Made(found.scores, "SelectV2", 3);
    if (select == nullptr) return false;
    const auto masked = NumberOf(types_, select->inputs[2]);
    const Edge mask = WithoutTrue(select->inputs[0]);
    if (!masked || !IsLike(select->inputs[1], found.scores) || !Lie(mask, DType::kBool, found.scores)) return false;
    found.mask = mask;
    found.masked = *masked;
    found.scores = select->inputs[1];
    return true;
  }

  // Keras has a mask of its own beside the one that it is given, and says it as true everywhere.
  Edge WithoutTrue(const Edge& mask) const {
    const Node& node = rewrite_.from().nodes[static_cast<size_t>(mask.node)];
    if (node.op != "LogicalAnd" || node.inputs.size() != 2) return mask;
    for (const size_t first : {size_t{0}, size_t{1}}) {
      const auto& value = types_.at(node.inputs[first]).value;
      const bool is_bool = value && value->type() == DType::kBool && value->device() == tensor::Device{};
      if (is_bool && std::ranges::all_of(value->values<bool>(), std::identity())) return node.inputs[1 - first];
    }
    return mask;
  }

  // Of one axis it is a bias, and as large as the scores a residual: the product of them takes those.
  bool TakeSum(Attention& found) const {
    const Node* sum = Made(found.scores, "AddV2", 2);
    if (sum == nullptr) return false;
    for (const size_t first : {size_t{0}, size_t{1}}) {
      const Edge &scores = sum->inputs[first], &mask = sum->inputs[1 - first];
      if (!IsLike(scores, found.scores) || !Lie(mask, DType::kFloat, found.scores)) continue;
      if (types_.at(mask).shape->size() < 2 || IsLike(mask, found.scores)) continue;
      found.mask = mask;
      found.scores = scores;
      return true;
    }
    return false;
  }

  bool TakeScale(Attention& found) const {
    if (const Node* ratio = Made(found.scores, "RealDiv", 2)) {
      const auto number = NumberOf(types_, ratio->inputs[1]);
      return number && TakeScale(found, ratio->inputs[0], 1.0F / *number);
    }
    const Node* product = Made(found.scores, "Mul", 2);
    if (product == nullptr) return false;
    for (const size_t first : {size_t{0}, size_t{1}}) {
      const auto number = NumberOf(types_, product->inputs[1 - first]);
      if (number && TakeScale(found, product->inputs[first], *number)) return true;
    }
    return false;
  }

  bool TakeScale(Attention& found, const Edge& scores, float scale) const {
    if (!IsLike(scores, found.scores)) return false;
    found.scores = scores;
    found.scale = scale;
    return true;
  }

  bool IsLike(const Edge& edge, const Edge& whole) const {
    const Type& type = types_.at(edge);
    return type.is_static() && type.type == DType::kFloat && type.shape == types_.at(whole).shape;
  }

  bool Lie(const Edge& edge, DType type, const Edge& whole) const {
    const Type& of = types_.at(edge);
    return of.is_static() && of.type == type && LiesBeside(*of.shape, *types_.at(whole).shape).has_value();
  }

  // The node that makes what nothing else reads.
  const Node* Made(const Edge& edge, std::string_view op, size_t inputs) const {
    const Node& node = rewrite_.from().nodes[static_cast<size_t>(edge.node)];
    const bool is_it = edge.output == 0 && node.op == op && node.inputs.size() == inputs;
    return is_it && rewrite_.has_one_reader(edge) ? &node : nullptr;
  }

  const Rewrite& rewrite_;
  const Types& types_;
};

Edge Write(const Attention& found, const Node& old, Rewrite& rewrite) {
  Node node{.name = old.name, .op = "AttentionWeights"};
  node.inputs = {rewrite.Mapped(found.scores)};
  if (found.mask) node.inputs.push_back(rewrite.Mapped(*found.mask));
  const auto set = [&](const char* attribute, float number) {
    tensorflow::AttrValue value;
    value.set_f(number);
    node.attributes.Set(attribute, std::move(value));
  };
  set("scale", found.scale);
  set("masked", found.masked);
  return rewrite.Add(std::move(node));
}

}  // namespace

std::optional<Graph> DrawTogetherAttentions(const Graph& graph, const Types& types) {
  return Replaced<Matching>(graph, types, Write);
}

}  // namespace longshore::graph::passes
