#include "serving-node/graph/rows.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

namespace longshore::graph {
namespace {

using tensor::Shape;
using tensor::Tensor;

// How a value depends on the rows of the batch.
enum class Kind {
  kSame,     // The same whatever is fed: weights.
  kRows,     // One row per row of the batch.
  kCounted,  // Depends on nothing but the number of rows: a shape.
  kOther,    // Anything else.
};

bool IsElementwise(std::string_view op) {
  static const std::set<std::string_view> kOps = {
      "Abs",        "Add",        "AddV2",        "BiasAdd",  "Cast",      "Ceil",      "Cos",    "Div",
      "Elu",        "Equal",      "Erf",          "Erfc",     "Exp",       "Expm1",     "Floor",  "FloorDiv",
      "FloorMod",   "Greater",    "GreaterEqual", "Less",     "LessEqual", "LeakyRelu", "Log",    "Log1p",
      "LogicalAnd", "LogicalNot", "LogicalOr",    "Maximum",  "Minimum",   "Mul",       "Neg",    "NotEqual",
      "Pow",        "RealDiv",    "Reciprocal",   "Relu",     "Relu6",     "Round",     "Rsqrt",  "SelectV2",
      "Selu",       "Sigmoid",    "Sin",          "Softplus", "Softsign",  "Sqrt",      "Square", "SquaredDifference",
      "Sub",        "Tanh"};
  return kOps.contains(op);
}

// Ops that compute each row from the same row of the first input, if the other inputs are the same for all rows.
bool ComputesEachRow(std::string_view op) {
  static const std::set<std::string_view> kOps = {"AvgPool", "Conv2D",         "DepthwiseConv2dNative",
                                                  "MaxPool", "MirrorPad",      "Pad",
                                                  "PadV2",   "ResizeBilinear", "ResizeNearestNeighbor"};
  return kOps.contains(op);
}

bool IsReduction(std::string_view op) {
  static const std::set<std::string_view> kOps = {"All",  "Any", "ArgMax", "ArgMin", "Max",
                                                  "Mean", "Min", "Prod",   "Sum"};
  return kOps.contains(op);
}

bool IsProductOfMany(std::string_view op) {
  return op == "BatchMatMul" || op == "BatchMatMulV2" || op == "BatchMatMulV3";
}

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
      : graph_(graph), many_(many), few_(few), counts_(counts), kinds_(graph.nodes.size(), Kind::kOther) {}

  bool Holds() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      kinds_[i] = Classify(i);
      if (kinds_[i] == Kind::kOther) return false;
    }
    return std::ranges::all_of(graph_.outputs, [&](const Edge& output) {
      return output.output == 0 && KindOf(output) == Kind::kRows && ShapeOf(output)[0] == counts_.many;
    });
  }

 private:
  Kind KindOf(const Edge& edge) const { return kinds_[static_cast<size_t>(edge.node)]; }
  const Shape& ShapeOf(const Edge& edge) const { return *many_.at(edge).shape; }
  size_t RankOf(const Edge& edge) const { return ShapeOf(edge).size(); }

  // For the node's first output. Readers of any other output are rejected in IsComputedByRow.
  Kind Classify(size_t node) const {
    const Node& of = graph_.nodes[node];
    const Edge made = {static_cast<int>(node), 0};
    if (!of.values.empty()) return Kind::kSame;
    if (of.has_effect || !of.bodies.empty() || !of.then.empty()) return Kind::kOther;
    const Type &many = many_.at(made), &few = few_.at(made);
    if (many.value && few.value) return ClassifyKnown(*many.value, *few.value);
    if (!many.is_static() || !few.is_static() || many.type != few.type) return Kind::kOther;
    if (tensor::ElementBytes(many.type) == 0) return Kind::kOther;  // Strings cannot be sliced by bytes.
    if (of.op == "Placeholder") return many.shape->empty() ? Kind::kSame : IfHasRows(made);
    return IsComputedByRow(of, made) ? IfHasRows(made) : Kind::kOther;
  }

  // A value known ahead of the run: shapes depend on the number of rows; masks and positions may have a row per row of
  // the batch, all rows being equal.
  Kind ClassifyKnown(const Tensor& many, const Tensor& few) const {
    if (AreEqual(many, few)) return Kind::kSame;
    if (many.rank() == 0 || few.rank() == 0 || many.dim(0) != counts_.many || few.dim(0) != counts_.few)
      return Kind::kCounted;
    if (!HoldsNumbers(many) || many.type() != few.type() ||
        !std::ranges::equal(RestOf(many.shape()), RestOf(few.shape())))
      return Kind::kOther;
    const size_t row = few.bytes() / static_cast<size_t>(counts_.few);
    const auto has_alike = [&](const Tensor& value) {
      for (size_t at = 0; at < value.bytes(); at += row) {
        if (std::memcmp(value.data() + at, few.data(), row) != 0) return false;
      }
      return true;
    };
    return row > 0 && has_alike(many) && has_alike(few) ? Kind::kRows : Kind::kCounted;
  }

  // kRows if the first size is a multiple of the number of rows and the rest is equal. A batch row may be several
  // consecutive rows of the value: Keras reshapes [rows, words, width] to [rows * words, width] for a product.
  Kind IfHasRows(const Edge& made) const {
    const Shape &many = *many_.at(made).shape, &few = *few_.at(made).shape;
    if (many.empty() || few.empty() || few[0] == 0 || few[0] % counts_.few != 0) return Kind::kOther;
    const bool has = many[0] == few[0] / counts_.few * counts_.many && std::ranges::equal(RestOf(many), RestOf(few));
    return has ? Kind::kRows : Kind::kOther;
  }

  // Whether row i of the result depends only on row i of the inputs that have rows, and on inputs that are the same for
  // all rows. IfHasRows checks the number of rows.
  bool IsComputedByRow(const Node& node, const Edge& made) const {
    if (std::ranges::any_of(node.inputs, [](const Edge& input) { return input.output != 0; })) return false;
    const auto& inputs = node.inputs;
    const auto is_row = [&](const Edge& input) { return KindOf(input) == Kind::kRows; };
    const auto is_same = [&](const Edge& input) { return KindOf(input) == Kind::kSame; };
    const auto of_first = [&](size_t at = 0) {  // Input `at` has rows, all others are the same for all rows.
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (i == at ? !is_row(inputs[i]) : !is_same(inputs[i])) return false;
      }
      return inputs.size() > at;
    };
    if (node.op == "Reshape") return inputs.size() == 2 && is_row(inputs[0]);
    if (node.op == "Squeeze" || node.op == "ExpandDims" || ComputesEachRow(node.op)) return of_first();
    if (node.op == "Softmax" || node.op == "LogSoftmax") return of_first() && RankOf(made) > 1;
    if (node.op == "MatMul") return of_first() && !node.attributes.Bool("transpose_a", false);
    if (node.op == "Transpose") return of_first() && StartsWithZero(inputs);
    if (node.op == "GatherV2") {
      return inputs.size() == 3 && of_first(1) && IntsOf(inputs[2]) == std::vector<int64_t>{0} &&
             node.attributes.Int("batch_dims", 0) == 0;
    }
    if (node.op == "Einsum") return MultipliesRows(node);
    if (node.op == "StridedSlice") return of_first() && inputs.size() == 4 && TakesAllRows(node);
    if (node.op == "ConcatV2") return !inputs.empty() && Concatenates(inputs);
    if (IsReduction(node.op)) return of_first() && inputs.size() == 2 && LeavesFirstAxis(inputs[1], RankOf(inputs[0]));
    const bool is_product = IsProductOfMany(node.op);
    if (is_product ? RankOf(made) < 3 : !IsElementwise(node.op)) return false;
    return std::ranges::all_of(
        inputs, [&](const Edge& input) { return is_same(input) || (is_row(input) && RankOf(input) == RankOf(made)); });
  }

  bool Concatenates(std::span<const Edge> inputs) const {
    const auto has_rows = [&](const Edge& input) { return KindOf(input) == Kind::kRows; };
    return std::ranges::all_of(inputs.first(inputs.size() - 1), has_rows) &&
           LeavesFirstAxis(inputs.back(), RankOf(inputs[0]));
  }

  // Whether a StridedSlice takes the whole first axis and keeps it first.
  bool TakesAllRows(const Node& node) const {
    const auto has_first = [&](const char* mask) { return node.attributes.Int(mask, 0) % 2 != 0; };
    const auto strides = IntsOf(node.inputs[3]);
    return strides && !strides->empty() && strides->front() == 1 && has_first("begin_mask") && has_first("end_mask") &&
           !has_first("shrink_axis_mask") && !has_first("new_axis_mask") &&
           node.attributes.Int("ellipsis_mask", 0) == 0;
  }

  // Whether an Einsum keeps rows apart: the first label of the result is the first label of every operand with rows and
  // occurs in no other operand. Example: "abc,cd->abd" with rows in the first operand.
  bool MultipliesRows(const Node& node) const {
    const std::string equation = node.attributes.Text("equation", "");
    const size_t arrow = equation.find("->");
    if (arrow == std::string::npos || arrow + 2 == equation.size() || equation.find_first_of(". ") != std::string::npos)
      return false;
    const char row = equation[arrow + 2];
    size_t at = 0;  // Where the labels of the operand begin.
    for (const Edge& input : node.inputs) {
      const size_t end = std::min(equation.find(',', at), arrow);
      if (at > end) return false;
      const std::string labels = equation.substr(at, end - at);
      const Kind kind = KindOf(input);
      if (kind == Kind::kRows ? labels.rfind(row) != 0 : kind != Kind::kSame || labels.find(row) != std::string::npos)
        return false;
      at = end + 1;
    }
    return at == arrow + 1;
  }

  // Whether a Transpose keeps the first axis first.
  bool StartsWithZero(std::span<const Edge> inputs) const {
    const auto order = inputs.size() == 2 ? IntsOf(inputs[1]) : std::nullopt;
    return order && !order->empty() && order->front() == 0;
  }

  // Whether the axes are known and the first axis is not among them.
  bool LeavesFirstAxis(const Edge& axes, size_t rank) const {
    const auto known = IntsOf(axes);
    const auto is_first = [&](int64_t axis) { return axis == 0 || axis == -static_cast<int64_t>(rank); };
    return known && std::ranges::none_of(*known, is_first);
  }

  // The value as integers; nullopt if it is not known, not of integers, or not the same for all rows.
  std::optional<std::vector<int64_t>> IntsOf(const Edge& edge) const {
    const auto& value = many_.at(edge).value;
    if (!value || KindOf(edge) != Kind::kSame) return std::nullopt;
    std::vector<int64_t> ints;
    if (value->type() == tensor::DType::kInt32) {
      ints.assign(value->values<int32_t>().begin(), value->values<int32_t>().end());
    } else if (value->type() == tensor::DType::kInt64) {
      ints.assign(value->values<int64_t>().begin(), value->values<int64_t>().end());
    } else {
      return std::nullopt;
    }
    return ints;
  }

  const Graph& graph_;
  const Types &many_, &few_;
  const RowCounts counts_;
  std::vector<Kind> kinds_;  // By node, for its first output.
};

}  // namespace

bool RowsAreIndependent(const Graph& graph, const Types& many, const Types& few, const RowCounts& counts) {
  return graph.bodies.empty() && RowIndependence(graph, many, few, counts).Holds();
}

}  // namespace longshore::graph
