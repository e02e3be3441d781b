#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"
#include "serving-node/graph/shapes.h"

namespace longshore::graph::passes {
namespace {

using tensor::DType;

// The pattern: Softmax of SelectV2(mask, s, masked) or of s + mask, where s is scores, scores * scale or
// scores / (1 / scale).
struct Attention {
  Edge scores;
  Edge mask;
  float scale = 1;
  float masked = 0;  // Replaces the scores where a boolean mask is false.
};

class Matching {
 public:
  Matching(const Rewrite& rewrite, const Types& types) : rewrite_(rewrite), types_(types) {}

  std::optional<Attention> At(size_t node) {
    const Node& root = rewrite_.from().nodes[node];
    if (root.op != "Softmax" || root.inputs.size() != 1) return std::nullopt;
    const Edge& whole = root.inputs[0];
    const Type& type = types_.at(whole);
    if (!type.is_static() || type.type != DType::kFloat || type.shape->empty() ||
        tensor::ElementCount(*type.shape).value_or(0) == 0)
      return std::nullopt;
    auto found = Selected(whole);
    if (!found) found = Added(whole);
    return found ? std::optional(Scaled(*found)) : std::nullopt;
  }

 private:
  std::optional<Attention> Selected(const Edge& whole) {
    const Node* select = Producer(whole, "SelectV2", 3);
    if (select == nullptr) return std::nullopt;
    const auto masked = NumberOf(types_, select->inputs[2]);
    const Edge mask = WithoutTrue(select->inputs[0]);
    if (!masked || !IsLike(select->inputs[1], whole) || !IsBroadcast(mask, DType::kBool, whole)) return std::nullopt;
    return Attention{.scores = select->inputs[1], .mask = mask, .scale = 1, .masked = *masked};
  }

  // Keras computes LogicalAnd of the given mask and a mask of its own, which is often true everywhere. Returns the
  // given mask in this case.
  Edge WithoutTrue(const Edge& mask) {
    const Node& node = rewrite_.from().nodes[static_cast<size_t>(mask.node)];
    if (node.op != "LogicalAnd" || node.inputs.size() != 2) return mask;
    for (const size_t first : {size_t{0}, size_t{1}}) {
      if (IsTrue(node.inputs[first])) return node.inputs[1 - first];
    }
    return mask;
  }

  // Whether the value is known and all its elements are true. Cached, because many nodes may read one large mask.
  bool IsTrue(const Edge& edge) {
    const auto [found, is_new] = is_true_.try_emplace({edge.node, edge.output}, false);
    if (!is_new) return found->second;
    const auto& value = types_.at(edge).value;
    const bool is_bool = value && value->type() == DType::kBool && value->device() == tensor::Device{};
    found->second = is_bool && std::ranges::all_of(value->values<bool>(), std::identity());
    return found->second;
  }

  // Finds s + mask. An operand with one axis is not a mask but a bias, and one with the shape of the scores is a
  // residual: the pass `elementwise` fuses these into the product that computes the scores.
  std::optional<Attention> Added(const Edge& whole) const {
    const Node* sum = Producer(whole, "AddV2", 2);
    if (sum == nullptr) return std::nullopt;
    for (const size_t first : {size_t{0}, size_t{1}}) {
      const Edge &scores = sum->inputs[first], &mask = sum->inputs[1 - first];
      if (!IsLike(scores, whole) || !IsBroadcast(mask, DType::kFloat, whole)) continue;
      if (types_.at(mask).shape->size() < 2 || IsLike(mask, whole)) continue;
      return Attention{.scores = scores, .mask = mask};
    }
    return std::nullopt;
  }

  Attention Scaled(const Attention& found) const {
    if (const Node* ratio = Producer(found.scores, "RealDiv", 2)) {
      const float scale = 1.0F / NumberOf(types_, ratio->inputs[1]).value_or(0);
      return std::isnormal(scale) ? ScaledBy(found, ratio->inputs[0], scale).value_or(found) : found;
    }
    const Node* product = Producer(found.scores, "Mul", 2);
    if (product == nullptr) return found;
    for (const size_t first : {size_t{0}, size_t{1}}) {
      const auto number = NumberOf(types_, product->inputs[1 - first]);
      const auto scaled = number ? ScaledBy(found, product->inputs[first], *number) : std::nullopt;
      if (scaled) return *scaled;
    }
    return found;
  }

  std::optional<Attention> ScaledBy(Attention found, const Edge& scores, float scale) const {
    if (!IsLike(scores, found.scores)) return std::nullopt;
    found.scores = scores;
    found.scale = scale;
    return found;
  }

  bool IsLike(const Edge& edge, const Edge& whole) const {
    const Type& type = types_.at(edge);
    return type.is_static() && type.type == DType::kFloat && type.shape == types_.at(whole).shape;
  }

  bool IsBroadcast(const Edge& edge, DType type, const Edge& whole) const {
    const Type& of = types_.at(edge);
    return of.is_static() && of.type == type && BroadcastKindOf(*of.shape, *types_.at(whole).shape).has_value();
  }

  // The node with output `edge`, if it has this op and number of inputs and `edge` has only one reader.
  const Node* Producer(const Edge& edge, std::string_view op, size_t inputs) const {
    const Node& node = rewrite_.from().nodes[static_cast<size_t>(edge.node)];
    const bool is_it = edge.output == 0 && node.op == op && node.inputs.size() == inputs;
    return is_it && rewrite_.has_one_reader(edge) ? &node : nullptr;
  }

  const Rewrite& rewrite_;
  const Types& types_;
  std::map<std::pair<int, int>, bool> is_true_;
};

Edge Write(const Attention& found, const Node& old, Rewrite& rewrite) {
  Node node{.name = old.name, .op = "AttentionWeights"};
  node.inputs = {rewrite.Mapped(found.scores), rewrite.Mapped(found.mask)};
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

std::optional<Graph> FuseAttentions(const Graph& graph, const Types& types) {
  return Replaced<Matching>(graph, types, Write);
}

}  // namespace longshore::graph::passes
