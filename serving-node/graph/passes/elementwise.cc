#include <set>
#include <string_view>

#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"

namespace longshore::graph::passes {
namespace {

using tensor::DType;

bool IsProduct(const std::string& op) { return op == "Conv2D" || op == "DepthwiseConv2dNative" || op == "MatMul"; }

bool IsActivation(const std::string& op) {
  static const std::set<std::string_view> kActivations = {"Relu", "Relu6", "Elu", "LeakyRelu", "Sigmoid", "Tanh"};
  return kActivations.contains(op);
}

bool IsOfOne(const std::string& op) {
  static const std::set<std::string_view> kOps = {"Abs",   "Elu",   "Erf",     "Exp",  "Neg",    "Reciprocal", "Relu",
                                                  "Relu6", "Rsqrt", "Sigmoid", "Sqrt", "Square", "Tanh"};
  return kOps.contains(op);
}

bool IsSum(const std::string& op) { return op == "BiasAdd" || op == "AddV2" || op == "Add"; }

bool IsOfTwo(const std::string& op) {
  static const std::set<std::string_view> kOps = {"Maximum", "Minimum", "Mul", "RealDiv", "SquaredDifference", "Sub"};
  return IsSum(op) || kOps.contains(op);
}

// Whether f(a, b) is f(b, a).
bool IsSymmetric(const std::string& op) { return op != "Sub" && op != "RealDiv" && op != "BiasAdd"; }

class Drawing {
 public:
  Drawing(const Graph& graph, const Types& types) : graph_(graph), types_(types), rewrite_(graph) {}

  Graph Run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!DrawIn(i)) rewrite_.Keep(i);
    }
    return rewrite_.Take();
  }

 private:
  bool DrawIn(size_t i) {
    const Node& node = graph_.nodes[i];
    if (!node.then.empty() || !node.values.empty()) return false;
    if (node.inputs.size() == 1) return (IsActivation(node.op) || IsOfOne(node.op)) && Into(i, node.inputs[0], nullptr);
    if (!IsOfTwo(node.op) || node.inputs.size() != 2) return false;
    if (Into(i, node.inputs[0], &node.inputs[1])) return true;
    return IsSymmetric(node.op) && Into(i, node.inputs[1], &node.inputs[0]);
  }

  // `other`: the second operand.
  bool Into(size_t i, const Edge& edge, const Edge* other) {
    if (edge.output != 0 || !rewrite_.has_one_reader(edge)) return false;
    const Edge mapped = rewrite_.Mapped(edge);
    if (mapped.output != 0 || !Takes(rewrite_.At(mapped), i, edge, other)) return false;
    const Node& old = graph_.nodes[i];
    Node made = rewrite_.At(mapped);
    Fused fused{.op = old.op, .name = old.name, .operand = -1, .alpha = old.attributes.Float("alpha", 0.2F)};
    if (other != nullptr) {
      fused.operand = static_cast<int>(made.inputs.size());
      made.inputs.push_back(rewrite_.Mapped(*other));
    }
    made.then.push_back(std::move(fused));
    rewrite_.Replace(i, {rewrite_.Add(std::move(made))});
    return true;
  }

  // Whether the maker of a value can go on with what node `i` does to it.
  bool Takes(const Node& maker, size_t i, const Edge& value, const Edge* other) const {
    const std::string& op = graph_.nodes[i].op;
    const Type& whole = types_.at(value);
    if (!whole.is_static() || whole.type != DType::kFloat || whole.shape->empty() || !maker.values.empty())
      return false;
    const bool by_product = IsProduct(maker.op);
    if (by_product ? !IsActivation(op) && !IsSum(op) : !GoesOn(maker, op)) return false;
    if (other == nullptr) return true;
    const Type& operand = types_.at(*other);
    if (!operand.is_static() || operand.type != DType::kFloat) return false;
    const auto lies = LiesBeside(*operand.shape, *whole.shape);
    if (!by_product) return lies.has_value();
    return lies == Lies::kWhole || (lies == Lies::kRow && operand.shape->size() == 1);
  }

  // Of element-wise ops, those for which there are loops follow each other; LeakyRelu has none.
  static bool GoesOn(const Node& maker, const std::string& op) {
    return (IsOfOne(maker.op) || IsOfTwo(maker.op)) && (IsOfOne(op) || IsOfTwo(op));
  }

  const Graph& graph_;
  const Types& types_;
  Rewrite rewrite_;
};

}  // namespace

Graph DrawInElementwise(const Graph& graph, const Types& types) { return Drawing(graph, types).Run(); }

}  // namespace longshore::graph::passes
