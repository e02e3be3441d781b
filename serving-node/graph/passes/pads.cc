#include <algorithm>

#include "serving-node/graph/ops.h"
#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"

namespace longshore::graph::passes {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr int64_t kPaddingMax = 1 << 24;  // The kernels accept no larger padding, so a larger Pad is not fused.

// The padding before and after each axis, such as [0,0,1,1,1,1,0,0]; empty unless only height and width are padded.
std::vector<int64_t> PaddingOf(const Graph& graph, const Node& pad) {
  if (pad.op != "Pad" || pad.inputs.size() != 2) return {};
  const Tensor* value = ConstOf(graph, pad.inputs[1]);
  if (value == nullptr || value->shape() != tensor::Shape{4, 2}) return {};
  if (value->type() != DType::kInt32 && value->type() != DType::kInt64) return {};
  std::vector<int64_t> padding;
  for (size_t i = 0; i < 8; ++i) {
    padding.push_back(value->type() == DType::kInt64 ? value->values<int64_t>()[i] : value->values<int32_t>()[i]);
  }
  const bool fits = padding[0] == 0 && padding[1] == 0 && padding[6] == 0 && padding[7] == 0 &&
                    std::ranges::none_of(padding, [](int64_t size) { return size < 0 || size > kPaddingMax; });
  return fits ? padding : std::vector<int64_t>();
}

bool IsUnpadded(const Node& node) {
  return FindOp(node.op).may_absorb_pad && node.attributes.Text("padding", "") == "VALID" &&
         node.attributes.Text("data_format", "NHWC") == "NHWC";
}

}  // namespace

Graph FusePads(const Graph& graph) {
  Rewrite rewrite(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const Node* pad = IsUnpadded(node) ? &graph.nodes[static_cast<size_t>(node.inputs[0].node)] : nullptr;
    const auto padding = pad == nullptr ? std::vector<int64_t>() : PaddingOf(graph, *pad);
    if (padding.empty()) {
      rewrite.Keep(i);
      continue;
    }
    Node padded = node;
    for (Edge& input : padded.inputs) input = rewrite.Mapped(input);
    padded.inputs[0] = rewrite.Mapped(pad->inputs[0]);
    tensorflow::AttrValue name, sizes;
    name.set_s("EXPLICIT");
    for (const int64_t size : padding) sizes.mutable_list()->add_i(size);
    padded.attributes.Set("padding", name);
    padded.attributes.Set("explicit_paddings", sizes);
    rewrite.Replace(i, {rewrite.Add(std::move(padded))});
  }
  return rewrite.Take();
}

}  // namespace longshore::graph::passes
