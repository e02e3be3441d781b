#include <optional>

#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"

namespace longshore::graph::passes {
namespace {

using tensor::DType;

// The patterns of a layer normalisation over the last axis of x:
//   mean = Mean(x), factor = Rsqrt(Mean(SquaredDifference(x, mean)) + epsilon)
//   (x - mean) * factor, and perhaps * gamma + beta
//   x * (factor * gamma) + (beta - mean * (factor * gamma))
struct LayerNorm {
  Edge x;
  std::optional<Edge> gamma, beta;
  float epsilon = 0;
  int64_t width = 0;
};

struct Statistics {
  Edge x, mean;
  float epsilon = 0;
};

class Matching {
 public:
  Matching(const Rewrite& rewrite, const Types& types) : rewrite_(rewrite), types_(types) {}

  std::optional<LayerNorm> At(size_t node) const {
    const Edge result{static_cast<int>(node), 0};
    auto found = Centred(result);
    if (!found) found = Scaled(NodeOf(result));
    if (!found) found = Spread(NodeOf(result));
    if (!found || !Fits(*found, result)) return std::nullopt;
    found->width = types_.at(found->x).shape->back();
    return found;
  }

 private:
  // Matches (x - mean) * factor.
  std::optional<LayerNorm> Centred(const Edge& result) const {
    const Node& root = NodeOf(result);
    if (root.op != "Mul" || root.inputs.size() != 2) return std::nullopt;
    for (const size_t first : {size_t{0}, size_t{1}}) {
      const Node* less = Producer(root.inputs[first], "Sub", 2);
      const auto statistics = less == nullptr ? std::nullopt : StatisticsOf(root.inputs[1 - first]);
      if (!statistics || less->inputs != std::vector<Edge>{statistics->x, statistics->mean}) continue;
      return LayerNorm{.x = statistics->x, .gamma = {}, .beta = {}, .epsilon = statistics->epsilon};
    }
    return std::nullopt;
  }

  // Matches (x - mean) * factor * gamma + beta.
  std::optional<LayerNorm> Scaled(const Node& root) const {
    for (const auto& [scaled, beta] : Terms(root)) {
      const Node* product = Producer(scaled, "Mul", 2);
      if (product == nullptr) continue;
      for (const size_t first : {size_t{0}, size_t{1}}) {
        const Edge& centred = product->inputs[first];
        auto found = rewrite_.has_one_reader(centred) ? Centred(centred) : std::nullopt;
        if (!found) continue;
        found->gamma = product->inputs[1 - first];
        found->beta = beta;
        return found;
      }
    }
    return std::nullopt;
  }

  std::optional<LayerNorm> Spread(const Node& root) const {
    for (const auto& [scaled, shift] : Terms(root)) {
      const Node* product = Producer(scaled, "Mul", 2);
      if (product == nullptr) continue;
      for (const size_t first : {size_t{0}, size_t{1}}) {
        auto found = Spread(product->inputs[first], product->inputs[1 - first], shift);
        if (found) return found;
      }
    }
    return std::nullopt;
  }

  // Matches x * slope + shift, where slope is factor * gamma.
  std::optional<LayerNorm> Spread(const Edge& x, const Edge& slope, const Edge& shift) const {
    const Node* product = Producer(slope, "Mul", 2, 2);
    if (product == nullptr) return std::nullopt;
    for (const size_t first : {size_t{0}, size_t{1}}) {
      const auto statistics = StatisticsOf(product->inputs[first]);
      if (!statistics || statistics->x != x) continue;
      const auto beta = BetaOf(shift, statistics->mean, slope);
      if (!beta) continue;
      return LayerNorm{.x = x, .gamma = product->inputs[1 - first], .beta = beta, .epsilon = statistics->epsilon};
    }
    return std::nullopt;
  }

  // Returns beta if `shift` is beta - mean * slope, or -mean * slope + beta.
  std::optional<Edge> BetaOf(const Edge& shift, const Edge& mean, const Edge& slope) const {
    if (const Node* less = Producer(shift, "Sub", 2))
      return IsProductOf(less->inputs[1], mean, slope) ? std::optional(less->inputs[0]) : std::nullopt;
    const Node* sum = Producer(shift, "AddV2", 2);
    if (sum == nullptr) return std::nullopt;
    for (const auto& [product, beta] : Terms(*sum)) {
      const Node* of = Producer(product, "Mul", 2);
      if (of == nullptr) continue;
      const size_t at = of->inputs[0] == slope ? 1 : 0;
      const Node* negative = Producer(of->inputs[at], "Neg", 1);
      if (negative != nullptr && negative->inputs[0] == mean && of->inputs[1 - at] == slope) return beta;
    }
    return std::nullopt;
  }

  bool IsProductOf(const Edge& edge, const Edge& a, const Edge& b) const {
    const Node* product = Producer(edge, "Mul", 2);
    return product != nullptr &&
           (product->inputs == std::vector<Edge>{a, b} || product->inputs == std::vector<Edge>{b, a});
  }

  std::optional<Statistics> StatisticsOf(const Edge& factor) const {
    const Node* root = Producer(factor, "Rsqrt", 1);
    const Node* sum = root == nullptr ? nullptr : Producer(root->inputs[0], "AddV2", 2);
    if (sum == nullptr) return std::nullopt;
    for (const auto& [variance, epsilon] : Terms(*sum)) {
      const auto number = NumberOf(types_, epsilon);
      if (!number) continue;
      const Node* squares =
          IsMean(variance, 1) ? Producer(NodeOf(variance).inputs[0], "SquaredDifference", 2) : nullptr;
      if (squares == nullptr) continue;
      for (const size_t first : {size_t{0}, size_t{1}}) {
        const Edge &x = squares->inputs[first], &mean = squares->inputs[1 - first];
        if (IsMean(mean, 2) && NodeOf(mean).inputs[0] == x) return Statistics{x, mean, *number};
      }
    }
    return std::nullopt;
  }

  // Whether `edge` is a mean over the last axis, computed with keep_dims.
  bool IsMean(const Edge& edge, int readers) const {
    const Node* mean = Producer(edge, "Mean", 2, readers);
    if (mean == nullptr || !mean->attributes.Bool("keep_dims", false)) return false;
    const Type& of = types_.at(mean->inputs[0]);
    const auto& axes = types_.at(mean->inputs[1]).value;
    if (!of.shape || of.shape->empty() || !axes || axes->elements() != 1) return false;
    if (axes->type() != DType::kInt32 && axes->type() != DType::kInt64) return false;
    const int64_t axis = axes->type() == DType::kInt64 ? axes->values<int64_t>()[0] : axes->values<int32_t>()[0];
    return axis == -1 || axis == std::ssize(*of.shape) - 1;
  }

  bool Fits(const LayerNorm& found, const Edge& result) const {
    const Type& x = types_.at(found.x);
    if (!x.is_static() || x.type != DType::kFloat || x.shape->back() == 0 || x.shape != types_.at(result).shape)
      return false;
    const auto is_row = [&](const std::optional<Edge>& edge) {
      if (!edge) return true;
      const Type& type = types_.at(*edge);
      return type.is_static() && type.type == DType::kFloat && !type.shape->empty() &&
             type.shape->back() == x.shape->back() && tensor::ElementCount(*type.shape) == x.shape->back();
    };
    return is_row(found.gamma) && is_row(found.beta);
  }

  // The two operands of a sum, in both orders; empty if the node is not a sum.
  static std::vector<std::pair<Edge, Edge>> Terms(const Node& sum) {
    if ((sum.op != "AddV2" && sum.op != "Add") || sum.inputs.size() != 2) return {};
    return {{sum.inputs[0], sum.inputs[1]}, {sum.inputs[1], sum.inputs[0]}};
  }

  // The node with output `edge`, if it has this op and number of inputs and exactly `readers` nodes read it.
  const Node* Producer(const Edge& edge, std::string_view op, size_t inputs, int readers = 1) const {
    const Node& node = NodeOf(edge);
    const bool is_it = edge.output == 0 && node.op == op && node.inputs.size() == inputs;
    return is_it && rewrite_.uses(edge) == readers && !rewrite_.is_output(edge) ? &node : nullptr;
  }

  const Node& NodeOf(const Edge& edge) const { return rewrite_.from().nodes[static_cast<size_t>(edge.node)]; }

  const Rewrite& rewrite_;
  const Types& types_;
};

Edge Write(const LayerNorm& found, const Node& old, Rewrite& rewrite) {
  const auto row = [&](const std::optional<Edge>& edge, const char* what, float absent) {
    if (edge) return rewrite.Mapped(*edge);
    const std::vector<float> values(static_cast<size_t>(found.width), absent);
    return rewrite.AddConst(old.name + what, tensor::Tensor::Of<float>({found.width}, values));
  };
  Node node{.name = old.name, .op = "LayerNorm"};
  node.inputs = {rewrite.Mapped(found.x), row(found.gamma, "/gamma", 1), row(found.beta, "/beta", 0)};
  tensorflow::AttrValue epsilon;
  epsilon.set_f(found.epsilon);
  node.attributes.Set("epsilon", std::move(epsilon));
  return rewrite.Add(std::move(node));
}

}  // namespace

std::optional<Graph> FuseLayerNorms(const Graph& graph, const Types& types) {
  return Replaced<Matching>(graph, types, Write);
}

}  // namespace longshore::graph::passes
