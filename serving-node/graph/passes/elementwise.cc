#include <map>
#include <optional>

#include "serving-node/graph/ops.h"
#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"
#include "serving-node/graph/shapes.h"

namespace longshore::graph::passes {
namespace {

using tensor::DType;

const Fusing& FusingOf(const Node& node) { return FindOp(node.op).fusing; }
bool IsProduct(const Node& node) { return FusingOf(node).part == ProductPart::kProduct; }

class ElementwiseFusion {
 public:
  ElementwiseFusion(const Graph& graph, const Types& types) : graph_(graph), types_(types), rewrite_(graph) {}

  std::optional<Graph> Run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!Fuse(i)) rewrite_.Keep(i);
    }
    return rewrite_.has_replaced() ? std::optional(rewrite_.Take()) : std::nullopt;
  }

 private:
  bool Fuse(size_t i) {
    const Node& node = graph_.nodes[i];
    // A node whose value is known is not computed in a run.
    if (!node.then.empty() || types_.at({static_cast<int>(i), 0}).value) return false;
    if (node.op == "BiasAdd" && node.attributes.Text("data_format", "NHWC") != "NHWC") return false;
    const Fusing& fusing = FusingOf(node);
    if (fusing.operands == 0 || std::ssize(node.inputs) != fusing.operands) return false;
    if (fusing.operands == 1) return FuseInto(i, node.inputs[0], nullptr);
    if (FuseInto(i, node.inputs[0], &node.inputs[1])) return true;
    return fusing.is_symmetric && FuseInto(i, node.inputs[1], &node.inputs[0]);
  }

  // Fuses node `i` into the node that computes `edge`, its first operand. `other`: the second operand or nullptr.
  bool FuseInto(size_t i, const Edge& edge, const Edge* other) {
    if (edge.output != 0 || !rewrite_.has_one_reader(edge)) return false;
    const Edge mapped = rewrite_.Mapped(edge);
    if (mapped.output != 0) return false;
    if (rewrite_.At(mapped).op == "Reshape") return FuseBeforeReshape(i, edge, other);
    if (!CanFuse(rewrite_.At(mapped), i, edge, other)) return false;
    const auto operand = other == nullptr ? std::nullopt : std::optional(rewrite_.Mapped(*other));
    rewrite_.Replace(i, {Extended(rewrite_.At(mapped), i, operand)});
    return true;
  }

  // Adds `made` to the new graph with the op of node `i` fused into it. `operand`: the second operand, in the new
  // graph.
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

  // Fuses node `i` into a product in front of a Reshape. Keras writes a dense layer over the last of several axes as
  // MatMul, Reshape, BiasAdd, activation. It writes the heads of an attention in the same way, with a bias of two axes.
  // An activation can move before the Reshape. A sum can too, if its other operand has one number for each column or
  // for each element of the product.
  bool FuseBeforeReshape(size_t i, const Edge& edge, const Edge* other) {
    Node reshape = rewrite_.At(rewrite_.Mapped(edge));
    const Node& product = rewrite_.At(reshape.inputs[0]);
    if (!IsProduct(product) || !FusingOf(graph_.nodes[i]).into_product() || !BelongsTo(edge, reshape.inputs[0]))
      return false;
    const tensor::Shape shape = products_.at(reshape.inputs[0].node);
    std::optional<Edge> operand;
    if (other != nullptr) {
      const auto beside = ShapeBeforeReshape(shape, edge, *other);
      if (!beside) return false;
      operand = Shaped(*other, *beside, graph_.nodes[i].name);
    }
    const Edge made = Extended(rewrite_.At(reshape.inputs[0]), i, operand);
    products_[made.node] = shape;
    reshape.inputs[0] = made;
    rewrite_.Replace(i, {rewrite_.Add(std::move(reshape))});
    return true;
  }

  // Whether only this Reshape reads the product, so that ops may be fused into the product. Records its shape.
  bool BelongsTo(const Edge& shaped, const Edge& product) {
    if (products_.contains(product.node)) return true;
    const Node& reshape = graph_.nodes[static_cast<size_t>(shaped.node)];
    if (reshape.op != "Reshape" || !rewrite_.has_one_reader(reshape.inputs[0])) return false;
    const Type& type = types_.at(reshape.inputs[0]);
    if (!type.is_static() || type.type != DType::kFloat || type.shape->empty()) return false;
    products_[product.node] = *type.shape;
    return true;
  }

  // Returns the shape that the other operand of a sum needs if the sum moves before the Reshape: [columns] or the shape
  // of the product. nullopt if the operand is broadcast in another way.
  std::optional<tensor::Shape> ShapeBeforeReshape(const tensor::Shape& product, const Edge& shaped,
                                                  const Edge& operand) const {
    const Type& whole = types_.at(shaped);
    const Type& type = types_.at(operand);
    if (!type.is_static() || !whole.is_static() || type.type != DType::kFloat) return std::nullopt;
    const auto kind = BroadcastKindOf(*type.shape, *whole.shape);
    const int64_t count = tensor::ElementCount(*type.shape).value_or(0);
    if ((kind == BroadcastKind::kTrailing || kind == BroadcastKind::kFull) && count == product.back())
      return tensor::Shape{count};
    return kind == BroadcastKind::kFull ? std::optional(product) : std::nullopt;
  }

  Edge Shaped(const Edge& edge, const tensor::Shape& shape, const std::string& name) {
    const Edge mapped = rewrite_.Mapped(edge);
    if (types_.at(edge).shape == shape) return mapped;
    const tensor::Shape rank = {std::ssize(shape)};
    const Edge sizes = rewrite_.AddConst(name + "/sizes", tensor::Tensor::Of<int64_t>(rank, shape));
    return rewrite_.Add(Node{.name = name + "/operand", .op = "Reshape", .attributes = {}, .inputs = {mapped, sizes}});
  }

  // Whether the op of node `i` can be fused into `maker`, which computes `value`.
  bool CanFuse(const Node& maker, size_t i, const Edge& value, const Edge* other) const {
    const Fusing& fusing = FusingOf(graph_.nodes[i]);
    const Type& whole = types_.at(value);
    if (!whole.is_static() || whole.type != DType::kFloat || whole.shape->empty() || !maker.values.empty())
      return false;
    const bool by_product = IsProduct(maker);
    if (by_product ? !fusing.into_product() : !fusing.into_chain || !FusingOf(maker).into_chain) return false;
    if (other == nullptr) return true;
    const Type& operand = types_.at(*other);
    if (!operand.is_static() || operand.type != DType::kFloat) return false;
    const auto kind = BroadcastKindOf(*operand.shape, *whole.shape);
    if (!by_product) return kind.has_value();
    // In a product, the other operand must be a residual of the same shape, or one number for each column or channel.
    return kind == BroadcastKind::kFull || (kind == BroadcastKind::kTrailing && operand.shape->size() == 1);
  }

  const Graph& graph_;
  const Types& types_;
  Rewrite rewrite_;
  std::map<int, tensor::Shape> products_;  // Shapes of products that only one Reshape reads, by node of the new graph.
};

}  // namespace

std::optional<Graph> FuseElementwise(const Graph& graph, const Types& types) {
  return ElementwiseFusion(graph, types).Run();
}

}  // namespace longshore::graph::passes
