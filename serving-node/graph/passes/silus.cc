#include <optional>

#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"

namespace longshore::graph::passes {
namespace {

using tensor::DType;

// Matches x * sigmoid(x), and x * sigmoid(1 * x) as tf.nn.silu writes it.
class Matching {
 public:
  Matching(const Rewrite& rewrite, const Types& types) : rewrite_(rewrite), types_(types) {}

  // Returns x if the node is the Mul of such a product.
  std::optional<Edge> At(size_t node) const {
    const Node& product = rewrite_.from().nodes[node];
    if (product.op != "Mul" || product.inputs.size() != 2) return std::nullopt;
    for (const size_t first : {size_t{0}, size_t{1}}) {
      const Edge& x = product.inputs[first];
      if (IsShare(product.inputs[1 - first], x) && IsOfFloats(x)) return x;
    }
    return std::nullopt;
  }

 private:
  // Whether `edge` is sigmoid(x) or sigmoid(1 * x).
  bool IsShare(const Edge& edge, const Edge& x) const {
    const Node& sigmoid = NodeOf(edge);
    if (sigmoid.op != "Sigmoid" || sigmoid.inputs.empty() || !rewrite_.has_one_reader(edge)) return false;
    return sigmoid.inputs[0] == x || IsTimesOne(sigmoid.inputs[0], x);
  }

  bool IsTimesOne(const Edge& edge, const Edge& x) const {
    const Node& product = NodeOf(edge);
    if (product.op != "Mul" || product.inputs.size() != 2 || !rewrite_.has_one_reader(edge)) return false;
    if (types_.at(edge).shape != types_.at(x).shape) return false;  // A constant 1 of higher rank adds axes.
    const Edge &a = product.inputs[0], &b = product.inputs[1];
    return (a == x && NumberOf(types_, b) == 1.0F) || (b == x && NumberOf(types_, a) == 1.0F);
  }

  bool IsOfFloats(const Edge& x) const {
    const Type& type = types_.at(x);
    return type.is_static() && type.type == DType::kFloat && tensor::ElementCount(*type.shape).value_or(0) > 0;
  }

  const Node& NodeOf(const Edge& edge) const { return rewrite_.from().nodes[static_cast<size_t>(edge.node)]; }

  const Rewrite& rewrite_;
  const Types& types_;
};

Edge Write(const Edge& x, const Node& old, Rewrite& rewrite) {
  return rewrite.Add(Node{.name = old.name, .op = "Silu", .attributes = {}, .inputs = {rewrite.Mapped(x)}});
}

}  // namespace

std::optional<Graph> FuseSilus(const Graph& graph, const Types& types) {
  return Replaced<Matching>(graph, types, Write);
}

}  // namespace longshore::graph::passes
