#include <cmath>
#include <numbers>
#include <optional>

#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"

namespace longshore::graph::passes {
namespace {

using tensor::DType;

// A value as a product: a constant number times other values.
struct Factors {
  double number = 1;
  std::vector<Edge> others;
};

// The patterns of GELU: x * 0.5 * (1 + erf(x / sqrt 2)), x * 0.5 * erfc(-x / sqrt 2), or
// x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
struct Gelu {
  Edge x;
  const char* op;
};

class Matching {
 public:
  Matching(const Rewrite& rewrite, const Types& types) : rewrite_(rewrite), types_(types) {}

  std::optional<Gelu> At(size_t node) const {
    const Node& root = rewrite_.from().nodes[node];
    if (root.op != "Mul" && root.op != "RealDiv") return std::nullopt;
    Factors product;
    if (!Split(root, kDepthMax, product)) return std::nullopt;
    if (product.others.size() != 2 || !IsClose(product.number, 0.5)) return std::nullopt;
    for (const size_t first : {size_t{0}, size_t{1}}) {
      const Edge& x = product.others[first];
      const char* op = OpOf(product.others[1 - first], x);
      if (op != nullptr && IsOfFloats(x, {static_cast<int>(node), 0})) return Gelu{x, op};
    }
    return std::nullopt;
  }

 private:
  static constexpr int kDepthMax = 5;  // How deep products may be nested.

  static bool IsClose(double a, double b) { return std::fabs(a - b) <= 1e-6 * std::fabs(b); }

  // GELU is x * 0.5 * share. Returns the fused op if `share` matches one of the patterns, nullptr otherwise.
  const char* OpOf(const Edge& share, const Edge& x) const {
    if (const Node* erfc = Producer(share, "Erfc")) return IsTimes(erfc->inputs[0], -kRootOfHalf, x) ? "Gelu" : nullptr;
    const auto odd = LessNumber(share, 1);
    if (!odd) return nullptr;
    if (const Node* erf = Producer(*odd, "Erf")) return IsTimes(erf->inputs[0], kRootOfHalf, x) ? "Gelu" : nullptr;
    const Node* tanh = Producer(*odd, "Tanh");
    return tanh != nullptr && IsCubic(tanh->inputs[0], x) ? "GeluTanh" : nullptr;
  }

  bool IsCubic(const Edge& edge, const Edge& x) const {
    const Factors product = FactorsOf(edge);
    if (product.others.size() != 1 || !IsClose(product.number, std::sqrt(2 / std::numbers::pi))) return false;
    const Node* sum = Sum(product.others[0]);
    if (sum == nullptr) return false;
    for (const size_t first : {size_t{0}, size_t{1}}) {
      if (sum->inputs[first] != x) continue;
      const Factors cube = FactorsOf(sum->inputs[1 - first]);
      if (IsClose(cube.number, 0.044715) && cube.others == std::vector<Edge>(3, x)) return true;
    }
    return false;
  }

  bool IsTimes(const Edge& edge, double number, const Edge& x) const {
    const Factors product = FactorsOf(edge);
    return IsClose(product.number, number) && product.others == std::vector<Edge>{x};
  }

  Factors FactorsOf(const Edge& edge) const {
    Factors factors;
    Add(edge, kDepthMax, factors);
    return factors;
  }

  void Add(const Edge& edge, int depth, Factors& factors) const {
    if (const auto number = NumberOf(types_, edge)) {
      factors.number *= *number;
    } else if (depth == 0 || !rewrite_.has_one_reader(edge) || !Split(NodeOf(edge), depth, factors)) {
      factors.others.push_back(edge);
    }
  }

  // Adds the factors of a product to `factors`. Returns false if the node is not a product.
  bool Split(const Node& node, int depth, Factors& factors) const {
    const size_t inputs = node.inputs.size();
    const double number = inputs == 2 ? NumberOf(types_, node.inputs[1]).value_or(0) : 0;
    int times = 1;  // How often the first input is a factor.
    if (node.op == "Mul" && inputs == 2) {
      Add(node.inputs[1], depth - 1, factors);
    } else if (node.op == "RealDiv" && number != 0) {
      factors.number /= number;
    } else if (node.op == "Neg" && inputs == 1) {
      factors.number = -factors.number;
    } else if ((node.op == "Square" && inputs == 1) || (node.op == "Pow" && (number == 2.0 || number == 3.0))) {
      times = number == 3.0 ? 3 : 2;
    } else {
      return false;
    }
    for (int i = 0; i < times; ++i) Add(node.inputs[0], depth - 1, factors);
    return true;
  }

  // The node with output `edge`, if it has this op and `edge` has only one reader.
  const Node* Producer(const Edge& edge, std::string_view op) const {
    const Node& node = NodeOf(edge);
    return node.op == op && !node.inputs.empty() && rewrite_.has_one_reader(edge) ? &node : nullptr;
  }
  const Node* Sum(const Edge& edge) const {
    const Node* sum = Producer(edge, "AddV2");
    if (sum == nullptr) sum = Producer(edge, "Add");
    return sum != nullptr && sum->inputs.size() == 2 ? sum : nullptr;
  }
  // Returns the value b if `edge` is number + b.
  std::optional<Edge> LessNumber(const Edge& edge, double number) const {
    const Node* sum = Sum(edge);
    if (sum == nullptr) return std::nullopt;
    for (const size_t first : {size_t{0}, size_t{1}}) {
      if (NumberOf(types_, sum->inputs[first]) == number) return sum->inputs[1 - first];
    }
    return std::nullopt;
  }

  // Also compares the shapes of x and of the result, because a constant of higher rank would add axes to the result.
  bool IsOfFloats(const Edge& x, const Edge& result) const {
    const Type& type = types_.at(x);
    return type.is_static() && type.type == DType::kFloat && type.shape == types_.at(result).shape &&
           tensor::ElementCount(*type.shape).value_or(0) > 0;
  }

  const Node& NodeOf(const Edge& edge) const { return rewrite_.from().nodes[static_cast<size_t>(edge.node)]; }

  static constexpr double kRootOfHalf = std::numbers::sqrt2 / 2;
  const Rewrite& rewrite_;
  const Types& types_;
};

Edge Write(const Gelu& found, const Node& old, Rewrite& rewrite) {
  return rewrite.Add(Node{.name = old.name, .op = found.op, .attributes = {}, .inputs = {rewrite.Mapped(found.x)}});
}

}  // namespace

std::optional<Graph> FuseGelus(const Graph& graph, const Types& types) {
  return Replaced<Matching>(graph, types, Write);
}

}  // namespace longshore::graph::passes
