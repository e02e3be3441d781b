#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "serving-node/graph/ops.h"
#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"

namespace longshore::graph::passes {
namespace {

using tensor::DType;
using tensor::Tensor;

// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta = x * scale + shift, by channel.
struct Affine {
  Tensor scale;
  Tensor shift;
};

const Tensor* FloatsOf(const Graph& graph, const Edge& edge) {
  const Tensor* value = ConstOf(graph, edge);
  return value != nullptr && value->type() == DType::kFloat && value->rank() == 1 ? value : nullptr;
}

std::optional<Affine> AffineOf(const Graph& graph, const Node& node) {
  if (node.attributes.Bool("is_training", true) || node.inputs.size() != 5) return std::nullopt;
  if (node.attributes.Text("data_format", "NHWC") != "NHWC") return std::nullopt;
  // The result must be float, like the statistics.
  if (node.attributes.Type("T", DType::kFloat) != DType::kFloat) return std::nullopt;
  const Tensor* given[4];
  for (size_t i = 0; i < 4; ++i) {
    given[i] = FloatsOf(graph, node.inputs[i + 1]);
    if (given[i] == nullptr || given[i]->elements() != given[0]->elements()) return std::nullopt;
  }
  const double epsilon = static_cast<double>(node.attributes.Float("epsilon", 1e-4F));
  const auto count = static_cast<size_t>(given[0]->elements());
  std::vector<float> scale(count), shift(count);
  for (size_t i = 0; i < count; ++i) {
    const auto at = [&](size_t which) { return static_cast<double>(given[which]->values<float>()[i]); };
    const double s = at(0) / std::sqrt(at(3) + epsilon);
    scale[i] = static_cast<float>(s);
    shift[i] = static_cast<float>(at(1) - at(2) * s);
  }
  const tensor::Shape shape = given[0]->shape();
  return Affine{Tensor::Of<float>(shape, scale), Tensor::Of<float>(shape, shift)};
}

bool IsBatchNorm(const std::string& op) {
  return op == "FusedBatchNorm" || op == "FusedBatchNormV2" || op == "FusedBatchNormV3";
}

// Whether the op returns a tensor with as many axes and channels as those that it takes, or with the sum of their
// channels.
bool KeepsImages(const Node& node) {
  static constexpr std::array<std::string_view, 7> kOps = {"AvgPool", "BiasAdd", "ConcatV2",    "Identity",
                                                           "MaxPool", "Pad",     "StopGradient"};
  return FindOp(node.op).fusing.operands > 0 || std::ranges::find(kOps, node.op) != kOps.end();
}

// Returns for each node whether its first output has four axes and a number of channels that the weights of
// convolutions determine. A multiplication and an addition compute tensors of other shapes, too, which a batch
// normalisation must reject.
std::vector<bool> FindImages(const Graph& graph) {
  std::vector<bool> images;
  for (const Node& node : graph.nodes) {
    const auto is_constant = [&](const Edge& input) { return ConstOf(graph, input) != nullptr; };
    const auto is_image = [&](const Edge& input) {
      return input.output == 0 && images[static_cast<size_t>(input.node)];
    };
    const bool is_made = FindOp(node.op).may_absorb_pad || node.op == "Conv2DBackpropInput" || IsBatchNorm(node.op);
    const bool is_kept =
        KeepsImages(node) && std::ranges::any_of(node.inputs, is_image) &&
        std::ranges::all_of(node.inputs, [&](const Edge& input) { return is_image(input) || is_constant(input); });
    images.push_back(is_made || is_kept);
  }
  return images;
}

// Whether only the normalised output is read, not the statistics.
bool IsPlain(const Rewrite& rewrite, size_t node) {
  for (int output = 1; output < 6; ++output) {
    if (rewrite.uses({static_cast<int>(node), output}) > 0) return false;
  }
  return true;
}

Node Binary(const char* op, const std::string& name, Edge a, Edge b) {
  return Node{.name = name, .op = op, .attributes = {}, .inputs = {a, b}};
}

}  // namespace

Graph SplitBatchNorms(const Graph& graph) {
  Rewrite rewrite(graph);
  const std::vector<bool> images = FindImages(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool may_split = IsBatchNorm(node.op) && IsPlain(rewrite, i) && !node.inputs.empty() &&
                           images[static_cast<size_t>(node.inputs[0].node)] && node.inputs[0].output == 0;
    auto affine = may_split ? AffineOf(graph, node) : std::nullopt;
    if (!affine) {
      rewrite.Keep(i);
      continue;
    }
    const Edge scale = rewrite.AddConst(node.name + "/scale", std::move(affine->scale));
    const Edge shift = rewrite.AddConst(node.name + "/shift", std::move(affine->shift));
    const Edge scaled = rewrite.Add(Binary("Mul", node.name + "/scaled", rewrite.Mapped(node.inputs[0]), scale));
    rewrite.Replace(i, {rewrite.Add(Binary("AddV2", node.name, scaled, shift))});
  }
  return rewrite.Take();
}

}  // namespace longshore::graph::passes
