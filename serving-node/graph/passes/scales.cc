#include <optional>

#include "serving-node/graph/ops.h"
#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"

namespace longshore::graph::passes {
namespace {

using tensor::DType;
using tensor::Tensor;

// The weights of a product and their layout: [..., channels] or [channels, ...].
struct Weights {
  const Tensor* tensor = nullptr;
  int64_t channels = 0;
  bool channels_first = false;
};

std::optional<Weights> WeightsOf(const Graph& graph, const Node& node) {
  if (!FindOp(node.op).may_absorb_scale || node.inputs.size() < 2) return std::nullopt;
  if (node.attributes.Text("data_format", "NHWC") != "NHWC") return std::nullopt;
  const Tensor* value = ConstOf(graph, node.inputs[1]);
  if (value == nullptr || value->type() != DType::kFloat || value->rank() < 2) return std::nullopt;
  Weights weights{value, value->dim(value->rank() - 1), false};
  if (node.op == "DepthwiseConv2dNative") weights.channels *= value->dim(value->rank() - 2);
  weights.channels_first = node.attributes.Bool("transpose_b", false);
  if (weights.channels_first) weights.channels = value->dim(0);
  return weights;
}

// Returns the value of a constant with one number, or with one number per channel along the last axis; nullptr for
// other values. `rank`: the rank of the product; a constant of higher rank would add axes to the result.
const Tensor* PerChannel(const Graph& graph, const Edge& edge, int64_t channels, int rank) {
  const Tensor* value = ConstOf(graph, edge);
  if (value == nullptr || value->type() != DType::kFloat) return nullptr;
  if (value->elements() == 1 && value->rank() <= 1) return value;
  const bool fits = value->rank() > 0 && value->rank() <= rank && value->elements() == channels &&
                    value->dim(value->rank() - 1) == channels;
  return fits ? value : nullptr;
}

float ValueFor(const Tensor& per_channel, int64_t channel) {
  return per_channel.values<float>()[static_cast<size_t>(per_channel.elements() == 1 ? 0 : channel)];
}

Tensor Scaled(const Weights& weights, const Tensor& scale) {
  const auto from = weights.tensor->values<float>();
  std::vector<float> scaled(from.begin(), from.end());
  const auto count = static_cast<int64_t>(scaled.size());
  const int64_t channels = weights.channels;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t channel = weights.channels_first ? i / (count / channels) : i % channels;
    scaled[static_cast<size_t>(i)] *= ValueFor(scale, channel);
  }
  return Tensor::Of<float>(weights.tensor->shape(), scaled);
}

// Returns bias * scale + sign * shift. If a pointer is null, the bias is 0, the scale 1 or the shift 0.
Tensor Bias(int64_t channels, const Tensor* bias, const Tensor* scale, const Tensor* shift, float sign) {
  std::vector<float> values(static_cast<size_t>(channels), 0.0F);
  for (int64_t i = 0; i < channels; ++i) {
    float& value = values[static_cast<size_t>(i)];
    if (bias != nullptr) value = ValueFor(*bias, i);
    if (scale != nullptr) value *= ValueFor(*scale, i);
    if (shift != nullptr) value += sign * ValueFor(*shift, i);
  }
  return Tensor::Of<float>({channels}, values);
}

class ScaleFusion {
 public:
  explicit ScaleFusion(const Graph& graph) : graph_(graph), rewrite_(graph), parts_(graph.nodes.size()) {}

  Graph Run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!Fuse(i)) Keep(i);
    }
    return rewrite_.Take();
  }

 private:
  void Keep(size_t i) {
    rewrite_.Keep(i);
    const Node& node = graph_.nodes[i];
    if (WeightsOf(graph_, node)) parts_[i] = Part{.product = i, .bias = {}, .weights = {}};
  }

  // A node of the old graph, expressed as a product that may have other weights and a bias.
  struct Part {
    size_t product = 0;  // The node of the product.
    std::optional<Tensor> bias;
    std::optional<Tensor> weights;  // Set if the weights differ from those of the product node.
  };

  bool Fuse(size_t i) {
    const Node& node = graph_.nodes[i];
    const bool scales = node.op == "Mul";
    const bool shifts = node.op == "AddV2" || node.op == "Add" || node.op == "BiasAdd" || node.op == "Sub";
    if ((!scales && !shifts) || node.inputs.size() != 2 || !node.then.empty()) return false;
    if (node.attributes.Text("data_format", "NHWC") != "NHWC") return false;  // A BiasAdd may have another format.
    for (const size_t first : {size_t{0}, size_t{1}}) {
      if (first == 1 && (node.op == "Sub" || node.op == "BiasAdd")) continue;
      if (FuseInto(i, node.inputs[first], node.inputs[1 - first], scales)) return true;
    }
    return false;
  }

  bool FuseInto(size_t i, const Edge& into, const Edge& by, bool scales) {
    const auto& part = parts_[static_cast<size_t>(into.node)];
    if (!part || into.output != 0 || !rewrite_.has_one_reader(into)) return false;
    const Node& product = graph_.nodes[part->product];
    auto weights = *WeightsOf(graph_, product);
    if (part->weights) weights.tensor = &*part->weights;
    const Tensor* factor = PerChannel(graph_, by, weights.channels, product.op == "MatMul" ? 2 : 4);
    if (factor == nullptr) return false;
    Part made = *part;
    if (scales) made.weights = Scaled(weights, *factor);
    const float sign = graph_.nodes[i].op == "Sub" ? -1.0F : 1.0F;
    if (!scales || made.bias) {
      made.bias = Bias(weights.channels, made.bias ? &*made.bias : nullptr, scales ? factor : nullptr,
                       scales ? nullptr : factor, sign);
    }
    rewrite_.Replace(i, {Write(graph_.nodes[i].name, product, made)});
    parts_[i] = std::move(made);
    return true;
  }

  Edge Write(const std::string& name, const Node& product, const Part& part) {
    Node node = product;
    for (Edge& input : node.inputs) input = rewrite_.Mapped(input);
    if (part.weights) node.inputs[1] = rewrite_.AddConst(name + "/weights", *part.weights);
    const Edge made = rewrite_.Add(std::move(node));
    if (!part.bias) return made;
    const Edge bias = rewrite_.AddConst(name + "/bias", *part.bias);
    return rewrite_.Add(Node{.name = name, .op = "BiasAdd", .attributes = {}, .inputs = {made, bias}});
  }

  const Graph& graph_;
  Rewrite rewrite_;
  std::vector<std::optional<Part>> parts_;
};

}  // namespace

Graph FuseScales(const Graph& graph) { return ScaleFusion(graph).Run(); }

}  // namespace longshore::graph::passes
