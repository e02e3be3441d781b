// Conv2D and DepthwiseConv2dNative with constant weights, by oneDNN.
#include "serving-node/engine/cpu/steps/windows.h"

namespace longshore::engine::cpu {
namespace {

using dnnl::memory;
using dnnl::prop_kind;

// Descriptions of the filter, with its dimensions in oneDNN's order.
struct Filter {
  memory::desc plain;  // With the layout that TensorFlow's filter has in memory.
  memory::desc any;    // With the layout left to the primitive.
};

Filter FilterOf(const graph::Node& node, const Shape& shape, int64_t channels_in) {
  const int64_t rows = shape[0], columns = shape[1], in = shape[2], out = shape[3];
  memory::dims sizes = {out, in, rows, columns};
  memory::desc plain = Dense(sizes, {2, 3, 1, 0});
  if (node.op == "DepthwiseConv2dNative") {
    sizes = {in, out, 1, rows, columns};
    plain = Dense(sizes, {3, 4, 0, 1, 2});
  } else if (in != channels_in) {
    const int64_t groups = channels_in / in;
    sizes = {groups, out / groups, in, rows, columns};
    plain = Dense(sizes, {3, 4, 2, 0, 1});
  }
  return {plain, memory::desc(sizes, memory::data_type::f32, memory::format_tag::any)};
}

bool IsSupported(const StepContext& context) {
  if (context.inputs.size() < 2 || !context.inputs[1].is_const() || !context.outputs[0].is_static()) return false;
  for (const Value& input : context.inputs) {
    if (!input.is_static() || input.type.type != DType::kFloat) return false;
  }
  const Value& image = context.inputs[0];
  const Value& filter = context.inputs[1];
  if (image.shape().size() != 4 || filter.shape().size() != 4) return false;
  if (image.elements() == 0 || filter.elements() == 0 || context.outputs[0].elements() == 0) return false;
  const int64_t in = image.shape()[3], taken = filter.shape()[2], out = filter.shape()[3];
  if (context.node.op == "DepthwiseConv2dNative") return in == taken;
  return in % taken == 0 && out % (in / taken) == 0;
}

}  // namespace

StepPtr MakeConvolution(const StepContext& context) {
  if (!IsSupported(context)) return nullptr;
  const Value& image = context.inputs[0];
  const Value& filter = context.inputs[1];
  const Value& result = context.outputs[0];
  const auto windows = WindowsOf(context.node, image.shape(), result.shape(), filter.shape()[0], filter.shape()[1]);
  if (!windows) return nullptr;
  const memory::desc from = Image(image.shape()), to = Image(result.shape());
  const Filter weights = FilterOf(context.node, filter.shape(), image.shape()[3]);
  const auto post = MakePostOps(context, to, 1);
  if (!post) return nullptr;
  const memory::desc bias({result.shape()[3]}, memory::data_type::f32, memory::format_tag::a);
  const dnnl::convolution_forward::primitive_desc descriptor(
      OneDnnEngine(), prop_kind::forward_inference, dnnl::algorithm::convolution_direct, from, weights.any,
      post->bias ? bias : memory::desc(), to, windows->strides, windows->dilations, windows->before, windows->after,
      post->attributes);
  std::vector<Binding> bindings = post->operands;
  bindings.push_back({DNNL_ARG_SRC, from, image.id});
  bindings.push_back(Bind(context, DNNL_ARG_WEIGHTS, filter, weights.plain, descriptor.weights_desc()));
  bindings.push_back({DNNL_ARG_DST, to, result.id});
  if (post->bias) bindings.push_back({DNNL_ARG_BIAS, bias, post->bias->id});
  return MakeOneDnnStep(descriptor, std::move(bindings));
}

}  // namespace longshore::engine::cpu
