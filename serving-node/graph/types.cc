#include "serving-node/graph/types.h"

#include <algorithm>

#include "serving-node/graph/type_rules.h"

namespace longshore::graph {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

// What a trial may move: shapes are asked for at every new batch size.
constexpr int64_t kTrialElementsMax = int64_t{1} << 28;

// What the values that depend on shapes alone may hold, all together: an index table, a mask. Others are made in a run.
constexpr size_t kKnownBytesMax = size_t{64} << 20;

size_t BytesOf(std::span<const Tensor> values) {
  size_t sum = 0;
  for (const Tensor& value : values) sum += std::max(value.bytes(), static_cast<size_t>(value.elements()));
  return sum;
}

Type TypeOf(const Tensor& value) { return {value.type(), value.shape(), value}; }

std::vector<Type> TypesOf(std::vector<Tensor> values, bool with_values) {
  std::vector<Type> types;
  for (Tensor& value : values) {
    types.push_back(TypeOf(value));
    if (!with_values) types.back().value.reset();
  }
  return types;
}

std::optional<Tensor> Zeros(const Type& type) {
  const auto count = tensor::ElementCount(*type.shape);
  if (!count || *count > kTrialElementsMax || tensor::ElementBytes(type.type) == 0) return std::nullopt;
  auto made = Tensor::Make(type.type, *type.shape);
  if (!made) return std::nullopt;
  std::fill_n(made->mutable_data(), made->bytes(), std::byte{0});
  return std::move(*made);
}

class Inference {
 public:
  Inference(const Graph& graph, const Evaluate& evaluate)
      : graph_(graph), evaluate_(evaluate), types_(graph.nodes.size()) {}

  Types Run(const std::map<std::string, Type>& fed) {
    for (const auto& [name, node] : graph_.fed) {
      const auto given = fed.find(name);
      if (given != fed.end()) types_.Set(static_cast<size_t>(node), {given->second});
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].op != "Placeholder") types_.Set(i, Infer(graph_.nodes[i]));
    }
    return std::move(types_);
  }

 private:
  std::vector<Type> Infer(const Node& node) {
    if (!node.values.empty()) return TypesOf(node.values, true);
    std::vector<Type> inputs;
    for (const Edge& edge : node.inputs) inputs.push_back(types_.at(edge));
    if (auto values = ValuesOf(node, inputs)) return Known(std::move(*values));
    for (const auto find : {FindElementwiseRule, FindProductRule, FindReductionRule}) {
      if (const TypeRule rule = find(node.op)) return rule(node, inputs);
    }
    return ByTrial(node, inputs);
  }

  std::vector<Type> Known(std::vector<Tensor> values) {
    const size_t bytes = BytesOf(values);
    const bool are_kept = bytes <= known_bytes_left_;
    if (are_kept) known_bytes_left_ -= bytes;
    return TypesOf(std::move(values), are_kept);
  }

  // All inputs are known, or only a shape is asked for and that is.
  std::optional<std::vector<Tensor>> ValuesOf(const Node& node, std::span<const Type> inputs) const {
    const bool of_shape = node.op == "Shape" || node.op == "ShapeN" || node.op == "Size" || node.op == "Rank";
    std::vector<Tensor> values;
    for (const Type& input : inputs) {
      if (!input.value && !(of_shape && input.is_static())) return std::nullopt;
      auto value = input.value ? input.value : Unfilled(input);
      if (!value) return std::nullopt;
      values.push_back(std::move(*value));
    }
    return evaluate_(node, values);
  }

  // A tensor that has only a shape. Its elements are nobody's business.
  static std::optional<Tensor> Unfilled(const Type& type) {
    static std::byte nothing{};
    return Tensor::Wrap(type.type, *type.shape, &nothing, nullptr);
  }

  std::vector<Type> ByTrial(const Node& node, std::span<const Type> inputs) const {
    const uint32_t moved = InputsMoved(node);
    std::vector<Tensor> values;
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::optional<Tensor> value = inputs[i].value;
      const bool may_stand_in = i < 32 && ((moved >> i) & 1) != 0;
      if (!value && may_stand_in && inputs[i].is_static()) value = Zeros(inputs[i]);
      if (!value) return {};
      values.push_back(std::move(*value));
    }
    if (moved == 0) return {};
    auto outputs = evaluate_(node, values);
    return outputs ? TypesOf(std::move(*outputs), false) : std::vector<Type>();
  }

  const Graph& graph_;
  const Evaluate& evaluate_;
  Types types_;
  size_t known_bytes_left_ = kKnownBytesMax;
};

}  // namespace

bool Type::is_static() const {
  if (type == DType::kInvalid || !shape || std::ranges::any_of(*shape, [](int64_t size) { return size < 0; }))
    return false;
  const auto count = tensor::ElementCount(*shape);
  return count &&
         static_cast<size_t>(*count) <= tensor::kTensorBytesMax / std::max<size_t>(tensor::ElementBytes(type), 1);
}

const Type& Types::at(const Edge& edge) const {
  static const Type kUnknown;
  const auto& outputs = of_[static_cast<size_t>(edge.node)];
  const auto at = static_cast<size_t>(edge.output);
  return edge.output >= 0 && at < outputs.size() ? outputs[at] : kUnknown;
}

Types InferTypes(const Graph& graph, const std::map<std::string, Type>& fed, const Evaluate& evaluate) {
  return Inference(graph, evaluate).Run(fed);
}

std::optional<Shape> Broadcast(const Shape& a, const Shape& b) {
  Shape both(std::max(a.size(), b.size()), 1);
  for (size_t i = 1; i <= both.size(); ++i) {
    const int64_t x = i <= a.size() ? a[a.size() - i] : 1;
    const int64_t y = i <= b.size() ? b[b.size() - i] : 1;
    if (x != y && x != 1 && y != 1 && x >= 0 && y >= 0) return std::nullopt;
    // Beside a size that is not known, one that is neither 1 nor unknown decides.
    both[both.size() - i] = x == 1 || (x < 0 && y != 1) ? y : x;
  }
  return both;
}

std::optional<Lies> LiesBeside(const Shape& operand, const Shape& result) {
  if (operand.size() > result.size()) return std::nullopt;
  Shape full(result.size() - operand.size(), 1);
  full.insert(full.end(), operand.begin(), operand.end());
  if (full == result) return Lies::kWhole;
  if (tensor::ElementCount(operand).value_or(0) == 1) return Lies::kNumber;
  const auto is_one = [](int64_t size) { return size == 1; };
  const auto repeated = std::find_if_not(full.begin(), full.end(), is_one);
  if (std::equal(repeated, full.end(), result.begin() + (repeated - full.begin()))) return Lies::kRow;
  if (full.back() != 1) return std::nullopt;
  return std::equal(full.begin(), full.end() - 1, result.begin()) ? std::optional(Lies::kPerRow) : std::nullopt;
}

}  // namespace longshore::graph
