#include "serving-node/graph/rows.h"

#include <algorithm>
#include <cstring>

#include "serving-node/graph/ops.h"
#include "serving-node/graph/row_rules.h"

namespace longshore::graph {
namespace {

using tensor::Shape;
using tensor::Tensor;

// All sizes except the first.
std::span<const int64_t> RestOf(const Shape& shape) { return std::span(shape).subspan(1); }

bool HoldsNumbers(const Tensor& value) {
  return tensor::ElementBytes(value.type()) > 0 && value.device() == tensor::Device{};
}

bool AreEqual(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  if (a.data() == b.data()) return true;
  return HoldsNumbers(a) && HoldsNumbers(b) && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

class RowIndependence {
 public:
  RowIndependence(const Graph& graph, const Types& many, const Types& few, const RowCounts& counts)
      : graph_(graph), many_(many), few_(few), counts_(counts), kinds_(graph.nodes.size(), RowKind::kOther) {}

  bool Holds() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      kinds_[i] = Classify(i);
      if (kinds_[i] == RowKind::kOther) return false;
    }
    return std::ranges::all_of(graph_.outputs, [&](const Edge& output) {
      return output.output == 0 && KindOf(output) == RowKind::kRows && ShapeOf(output)[0] == counts_.many;
    });
  }

 private:
  RowKind KindOf(const Edge& edge) const { return kinds_[static_cast<size_t>(edge.node)]; }
  const Shape& ShapeOf(const Edge& edge) const { return *many_.at(edge).shape; }

  // Returns the kind of the node's first output. This suffices, because IsComputedByRow returns false for the readers
  // of any other output.
  RowKind Classify(size_t node) const {
    const Node& of = graph_.nodes[node];
    const Edge made = {static_cast<int>(node), 0};
    if (!of.values.empty()) return RowKind::kSame;
    if (of.has_effect || !of.bodies.empty() || !of.then.empty()) return RowKind::kOther;
    const Type &many = many_.at(made), &few = few_.at(made);
    if (many.value && few.value) return ClassifyKnown(*many.value, *few.value);
    if (!many.is_static() || !few.is_static() || many.type != few.type) return RowKind::kOther;
    if (tensor::ElementBytes(many.type) == 0) return RowKind::kOther;  // Strings cannot be sliced by bytes.
    if (of.op == "Placeholder") return many.shape->empty() ? RowKind::kSame : IfHasRows(made);
    return IsComputedByRow(of, made) ? IfHasRows(made) : RowKind::kOther;
  }

  // Classifies a value that is known before the run. Such a value may be a shape, which depends on the number of rows,
  // or a mask or positions, which may have a row for each row of the batch; all these rows are then equal.
  RowKind ClassifyKnown(const Tensor& many, const Tensor& few) const {
    if (AreEqual(many, few)) return RowKind::kSame;
    if (many.rank() == 0 || few.rank() == 0 || many.dim(0) != counts_.many || few.dim(0) != counts_.few)
      return RowKind::kCounted;
    if (!HoldsNumbers(many) || many.type() != few.type() ||
        !std::ranges::equal(RestOf(many.shape()), RestOf(few.shape())))
      return RowKind::kOther;
    const size_t row = few.bytes() / static_cast<size_t>(counts_.few);
    const auto has_alike = [&](const Tensor& value) {
      for (size_t at = 0; at < value.bytes(); at += row) {
        if (std::memcmp(value.data() + at, few.data(), row) != 0) return false;
      }
      return true;
    };
    return row > 0 && has_alike(many) && has_alike(few) ? RowKind::kRows : RowKind::kCounted;
  }

  // Returns kRows if the first size is the same multiple of the number of rows in both batches and the other sizes are
  // equal, otherwise kOther. A row of the batch may be several consecutive rows of the value: Keras reshapes
  // [rows, words, width] to [rows * words, width] for a product.
  RowKind IfHasRows(const Edge& made) const {
    const Shape &many = *many_.at(made).shape, &few = *few_.at(made).shape;
    if (many.empty() || few.empty() || few[0] == 0 || few[0] % counts_.few != 0) return RowKind::kOther;
    const bool has = many[0] == few[0] / counts_.few * counts_.many && std::ranges::equal(RestOf(many), RestOf(few));
    return has ? RowKind::kRows : RowKind::kOther;
  }

  // Whether the row rule of the op holds. The caller checks the number of rows with IfHasRows.
  bool IsComputedByRow(const Node& node, const Edge& made) const {
    const RowRule rule = FindOp(node.op).rows;
    if (rule == nullptr || std::ranges::any_of(node.inputs, [](const Edge& input) { return input.output != 0; }))
      return false;
    NodeRows rows{.node = node, .inputs = {}, .output = many_.at(made)};
    for (const Edge& input : node.inputs) rows.inputs.push_back({KindOf(input), many_.at(input)});
    return rule(rows);
  }

  const Graph& graph_;
  const Types &many_, &few_;
  const RowCounts counts_;
  std::vector<RowKind> kinds_;  // By node: the kind of its first output.
};

}  // namespace

bool RowsAreIndependent(const Graph& graph, const Types& many, const Types& few, const RowCounts& counts) {
  return graph.bodies.empty() && RowIndependence(graph, many, few, counts).Holds();
}

}  // namespace longshore::graph
