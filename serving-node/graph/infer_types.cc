#include "serving-node/graph/infer_types.h"

#include <algorithm>

#include "serving-node/graph/ops.h"
#include "serving-node/graph/shapes.h"

namespace longshore::graph {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

// The number of elements that all evaluations of one inference together may create. A limit for each of them is not
// enough, because nodes in a loop's body are inferred repeatedly.
constexpr int64_t kEvaluatedElementsMax = int64_t{1} << 28;

// The bytes that all inferred values together may have. These are values that depend on shapes alone, such as index
// tables and masks. Values beyond this limit are computed in each run instead.
constexpr size_t kKnownBytesMax = size_t{64} << 20;

// Limits for the number of nodes in bodies, counted at every visit, and for the nesting depth of bodies. Beyond them,
// the types of the outputs of If, Case and While stay unknown.
constexpr size_t kBodyNodesMax = 500'000;
constexpr int kBodyDepthMax = 8;

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

Type WithoutValue(Type type) {
  type.value.reset();
  return type;
}

bool IsSame(const Type& a, const Type& b) {
  return a.type == b.type && a.shape == b.shape && a.element == b.element && a.length == b.length &&
         a.is_unset == b.is_unset;
}

// The first tensor that is set decides the shapes in an unset list, unless the list has been declared with a whole
// shape.
std::optional<Shape> EitherElement(const Type& a, const Type& b) {
  if (a.is_unset == b.is_unset) return EitherShape(a.element, b.element);
  const Type &unset = a.is_unset ? a : b, &set = a.is_unset ? b : a;
  return IsWhole(unset.element) ? EitherShape(unset.element, set.element) : set.element;
}

// Returns the most specific type that covers both `a` and `b`.
Type Either(const Type& a, const Type& b) {
  if (a.type != b.type) return {};
  return {.type = a.type,
          .shape = EitherShape(a.shape, b.shape),
          .value = std::nullopt,
          .element = EitherElement(a, b),
          .length = a.length == b.length ? a.length : std::nullopt,
          .is_unset = a.is_unset && b.is_unset};
}

// The budget that is left for the inference of a graph and all its bodies.
struct Budget {
  size_t known_bytes = kKnownBytesMax;
  size_t nodes_of_bodies = kBodyNodesMax;
  int64_t evaluated_elements = kEvaluatedElementsMax;
  int depth = 0;  // The nesting depth of the body that is being inferred.
};

class Inference {
 public:
  Inference(const Graph& graph, std::span<const Graph> bodies, const Evaluate& evaluate, Budget& budget)
      : graph_(graph), bodies_(bodies), evaluate_(evaluate), budget_(budget), types_(graph.nodes.size()) {}

  Types Run(const std::map<std::string, Type>& fed) {
    for (const auto& [name, node] : graph_.fed) {
      const auto given = fed.find(name);
      if (given != fed.end()) types_.Set(static_cast<size_t>(node), {given->second});
    }
    return Run();
  }

  // For a body: infers the types, without values, that the body returns for arguments of these types.
  std::vector<Type> Run(std::span<const Type> arguments) {
    for (size_t i = 0; i < std::min(arguments.size(), graph_.arguments.size()); ++i)
      types_.Set(static_cast<size_t>(graph_.arguments[i]), {arguments[i]});
    const Types types = Run();
    std::vector<Type> outputs;
    for (const Edge& output : graph_.outputs) outputs.push_back(WithoutValue(types.at(output)));
    return outputs;
  }

 private:
  Types Run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].op != "Placeholder") types_.Set(i, Infer(graph_.nodes[i]));
    }
    return std::move(types_);
  }

  std::vector<Type> Infer(const Node& node) {
    if (node.op == kKnown) budget_.known_bytes -= std::min(budget_.known_bytes, BytesOf(node.values));
    if (!node.values.empty()) return TypesOf(node.values, true);
    std::vector<Type> inputs;
    for (const Edge& edge : node.inputs) inputs.push_back(types_.at(edge));
    if (!node.bodies.empty())
      return node.op.ends_with("While") ? TypesOfLoop(node, inputs) : TypesOfBranches(node, inputs);
    const Op& op = FindOp(node.op);
    if (auto values = ValuesOf(node, op, inputs)) return Known(std::move(*values));
    return op.type != nullptr ? op.type(node, inputs) : std::vector<Type>();
  }

  std::vector<Type> Known(std::vector<Tensor> values) {
    const size_t bytes = BytesOf(values);
    const bool are_kept = bytes <= budget_.known_bytes;
    if (are_kept) budget_.known_bytes -= bytes;
    return TypesOf(std::move(values), are_kept);
  }

  // Returns the types that the body returns; an empty list if the budget is spent.
  std::vector<Type> TypesOfBody(int body, std::span<const Type> arguments) {
    const Graph& of = bodies_[static_cast<size_t>(body)];
    if (of.nodes.size() >= budget_.nodes_of_bodies || budget_.depth >= kBodyDepthMax) return {};
    budget_.nodes_of_bodies -= of.nodes.size() + 1;
    ++budget_.depth;
    auto outputs = Inference(of, bodies_, evaluate_, budget_).Run(arguments);
    --budget_.depth;
    return outputs;
  }

  std::vector<Type> TypesOfBranches(const Node& node, std::span<const Type> inputs) {
    std::vector<Type> either = TypesOfBody(node.bodies[0], inputs.subspan(1));
    for (size_t i = 1; i < node.bodies.size(); ++i) {
      const std::vector<Type> other = TypesOfBody(node.bodies[i], inputs.subspan(1));
      if (other.size() != either.size()) return {};
      for (size_t k = 0; k < other.size(); ++k) either[k] = Either(either[k], other[k]);
    }
    return either;
  }

  // Finds a fixed point: widens the types of the loop variables until the loop's body maps them to themselves. This
  // ends because types only become less specific.
  std::vector<Type> TypesOfLoop(const Node& node, std::span<const Type> inputs) {
    std::vector<Type> always;
    for (const Type& input : inputs) always.push_back(WithoutValue(input));
    for (;;) {
      const std::vector<Type> next = TypesOfBody(node.bodies.back(), always);
      if (next.size() != always.size()) return {};
      std::vector<Type> either;
      for (size_t i = 0; i < next.size(); ++i) either.push_back(Either(always[i], next[i]));
      if (std::ranges::equal(always, either, IsSame)) return always;
      always = std::move(either);
    }
  }

  // Returns the values of the outputs if those of all inputs are known, or if the op reads only shapes and all input
  // shapes are known.
  std::optional<std::vector<Tensor>> ValuesOf(const Node& node, const Op& op, std::span<const Type> inputs) {
    std::vector<Tensor> values;
    for (const Type& input : inputs) {
      if (!input.value && !(op.reads_shapes && input.is_static())) return std::nullopt;
      auto value = input.value ? input.value : Unfilled(input);
      if (!value) return std::nullopt;
      values.push_back(std::move(*value));
    }
    return Evaluated(node, values);
  }

  // Computes the outputs. Returns nullopt if the op cannot be evaluated or the budget is spent.
  std::optional<std::vector<Tensor>> Evaluated(const Node& node, std::span<const Tensor> values) {
    if (budget_.evaluated_elements <= 0) return std::nullopt;
    auto outputs = evaluate_(node, values);
    if (!outputs) return std::nullopt;
    for (const Tensor& output : *outputs) budget_.evaluated_elements -= output.elements();
    return outputs;
  }

  // A tensor of this type and shape without data, for ops that read only the shape.
  static std::optional<Tensor> Unfilled(const Type& type) {
    static std::byte nothing{};
    return Tensor::Wrap(type.type, *type.shape, &nothing, nullptr);
  }

  const Graph& graph_;
  const std::span<const Graph> bodies_;
  const Evaluate& evaluate_;
  Budget& budget_;
  Types types_;
};

}  // namespace

Types InferTypes(const Graph& graph, std::span<const Graph> bodies, const std::map<std::string, Type>& fed,
                 const Evaluate& evaluate) {
  Budget budget;
  return Inference(graph, bodies, evaluate, budget).Run(fed);
}

}  // namespace longshore::graph
