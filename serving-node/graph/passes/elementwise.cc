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

bool IsSum(const std::string& op) { return op == "BiasAdd" || op == "AddV2" || op == "Add"; }

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
    if (!node.then.empty()) return false;
    if (IsActivation(node.op) && node.inputs.size() == 1) return Into(i, node.inputs[0], nullptr);
    if (!IsSum(node.op) || node.inputs.size() != 2) return false;
    if (Into(i, node.inputs[0], &node.inputs[1])) return true;
    return node.op != "BiasAdd" && Into(i, node.inputs[1], &node.inputs[0]);
  }

  // `other`: what is added.
  bool Into(size_t i, const Edge& product, const Edge* other) {
    if (product.output != 0 || !rewrite_.has_one_reader(product)) return false;
    const Edge mapped = rewrite_.Mapped(product);
    if (!IsProduct(rewrite_.At(mapped).op) || mapped.output != 0) return false;
    const Type& whole = types_.at(product);
    if (!whole.is_static() || whole.type != DType::kFloat) return false;
    if (other != nullptr && !Fits(whole, types_.at(*other))) return false;
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

  // A tensor of the same shape, or one number per channel.
  static bool Fits(const Type& whole, const Type& other) {
    if (!other.is_static() || other.type != DType::kFloat || whole.shape->empty()) return false;
    if (*other.shape == *whole.shape) return true;
    return other.shape->size() == 1 && other.shape->front() == whole.shape->back();
  }

  const Graph& graph_;
  const Types& types_;
  Rewrite rewrite_;
};

}  // namespace

Graph DrawInElementwise(const Graph& graph, const Types& types) { return Drawing(graph, types).Run(); }

}  // namespace longshore::graph::passes
