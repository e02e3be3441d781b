#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"

namespace longshore::graph::passes {
namespace {

using tensor::DType;

bool IsProduct(const std::string& op) {
  static const std::set<std::string_view> kProducts = {"BatchMatMul", "BatchMatMulV2", "Conv2D",
                                                       "DepthwiseConv2dNative", "MatMul"};
  return kProducts.contains(op);
}

bool IsActivation(const std::string& op) {
  static const std::set<std::string_view> kActivations = {"Relu", "Relu6",   "Elu", "LeakyRelu",
                                                          "Silu", "Sigmoid", "Tanh"};
  return kActivations.contains(op);
}

bool IsOfOne(const std::string& op) {
  static const std::set<std::string_view> kOps = {"Abs",     "Elu",        "Erf",  "Erfc",   "Exp",
                                                  "Neg",     "Reciprocal", "Relu", "Relu6",  "Rsqrt",
                                                  "Sigmoid", "Silu",       "Sqrt", "Square", "Tanh"};
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

  std::optional<Graph> Run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!DrawIn(i)) rewrite_.Keep(i);
    }
    return rewrite_.has_replaced() ? std::optional(rewrite_.Take()) : std::nullopt;
  }

 private:
  bool DrawIn(size_t i) {
    const Node& node = graph_.nodes[i];
    if (!node.then.empty() || types_.at({static_cast<int>(i), 0}).value) return false;  // What is known needs no step.
    if (node.op == "BiasAdd" && node.attributes.Text("data_format", "NHWC") != "NHWC") return false;
    if (node.inputs.size() == 1) return (IsActivation(node.op) || IsOfOne(node.op)) && Into(i, node.inputs[0], nullptr);
    if (!IsOfTwo(node.op) || node.inputs.size() != 2) return false;
    if (Into(i, node.inputs[0], &node.inputs[1])) return true;
    return IsSymmetric(node.op) && Into(i, node.inputs[1], &node.inputs[0]);
  }

  // `other`: the second operand.
  bool Into(size_t i, const Edge& edge, const Edge* other) {
    if (edge.output != 0 || !rewrite_.has_one_reader(edge)) return false;
    const Edge mapped = rewrite_.Mapped(edge);
    if (mapped.output != 0) return false;
    if (rewrite_.At(mapped).op == "Reshape") return IntoProductBefore(i, edge, other);
    if (!Takes(rewrite_.At(mapped), i, edge, other)) return false;
    const auto operand = other == nullptr ? std::nullopt : std::optional(rewrite_.Mapped(*other));
    rewrite_.Replace(i, {Extended(rewrite_.At(mapped), i, operand)});
    return true;
  }

  // The maker of a value with what node `i` does to it. `operand`: of the new graph.
  Edge Extended(Node made, size_t i, const std::optional<Edge>& operand) {
    const Node& old = graph_.nodes[i];
    Fused fused{.op = old.op, .name = old.name, .operand = -1, .alpha = old.attributes.Float("alpha", 0.2F)};
    if (operand) {
      fused.operand = static_cast<int>(made.inputs.size());
      made.inputs.push_back(*operand);
    }
    made.then.push_back(std::move(fused));
    return rewrite_.Add(std::move(made));
  }

  // Keras writes a layer over the last of several axes as MatMul, Reshape, BiasAdd, activation, and the heads of an
  // attention with a bias of two axes. Past the Reshape go an activation, a number for each of the product's columns,
  // and what has a number for each of its own.
  bool IntoProductBefore(size_t i, const Edge& edge, const Edge* other) {
    Node reshape = rewrite_.At(rewrite_.Mapped(edge));
    const Node& product = rewrite_.At(reshape.inputs[0]);
    if (!IsProduct(product.op) || !BelongsTo(edge, reshape.inputs[0])) return false;
    const tensor::Shape shape = products_.at(reshape.inputs[0].node);
    std::optional<Edge> operand;
    if (other == nullptr) {
      if (!IsActivation(graph_.nodes[i].op)) return false;
    } else if (const auto beside = ShapeBeside(shape, i, edge, *other)) {
      operand = Shaped(*other, *beside, graph_.nodes[i].name);
    } else {
      return false;
    }
    const Edge made = Extended(rewrite_.At(reshape.inputs[0]), i, operand);
    products_[made.node] = shape;
    reshape.inputs[0] = made;
    rewrite_.Replace(i, {rewrite_.Add(std::move(reshape))});
    return true;
  }

  // Whether nothing but the Reshape reads the product, or what was made of it here; notes the product's shape.
  bool BelongsTo(const Edge& shaped, const Edge& product) {
    if (products_.contains(product.node)) return true;
    const Node& reshape = graph_.nodes[static_cast<size_t>(shaped.node)];
    if (reshape.op != "Reshape" || !rewrite_.has_one_reader(reshape.inputs[0])) return false;
    const Type& type = types_.at(reshape.inputs[0]);
    if (!type.is_static() || type.type != DType::kFloat || type.shape->empty()) return false;
    products_[product.node] = *type.shape;
    return true;
  }

  // The shape that what is added to the reshaped product has beside the product: [columns], or the product's own.
  std::optional<tensor::Shape> ShapeBeside(const tensor::Shape& product, size_t i, const Edge& shaped,
                                           const Edge& operand) const {
    const Type& whole = types_.at(shaped);
    const Type& type = types_.at(operand);
    if (!IsSum(graph_.nodes[i].op) || !type.is_static() || !whole.is_static() || type.type != DType::kFloat)
      return std::nullopt;
    const auto lies = LiesBeside(*type.shape, *whole.shape);
    const int64_t count = tensor::ElementCount(*type.shape).value_or(0);
    if ((lies == Lies::kRow || lies == Lies::kWhole) && count == product.back()) return tensor::Shape{count};
    return lies == Lies::kWhole ? std::optional(product) : std::nullopt;
  }

  Edge Shaped(const Edge& edge, const tensor::Shape& shape, const std::string& name) {
    const Edge mapped = rewrite_.Mapped(edge);
    if (types_.at(edge).shape == shape) return mapped;
    const tensor::Shape rank = {std::ssize(shape)};
    const Edge sizes = rewrite_.AddConst(name + "/sizes", tensor::Tensor::Of<int64_t>(rank, shape));
    return rewrite_.Add(Node{.name = name + "/operand", .op = "Reshape", .attributes = {}, .inputs = {mapped, sizes}});
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
    // A row of a product is what each of its columns, or channels, has.
    return lies == Lies::kWhole || (lies == Lies::kRow && operand.shape->size() == 1);
  }

  // Of element-wise ops, those for which there are loops follow each other; LeakyRelu has none.
  static bool GoesOn(const Node& maker, const std::string& op) {
    return (IsOfOne(maker.op) || IsOfTwo(maker.op)) && (IsOfOne(op) || IsOfTwo(op));
  }

  const Graph& graph_;
  const Types& types_;
  Rewrite rewrite_;
  std::map<int, tensor::Shape> products_;  // The shapes of those that nothing but one Reshape reads, by their new node.
};

}  // namespace

std::optional<Graph> DrawInElementwise(const Graph& graph, const Types& types) { return Drawing(graph, types).Run(); }

}  // namespace longshore::graph::passes
