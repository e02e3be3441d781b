// MaxPool and AvgPool by oneDNN.
#include "serving-node/engine/cpu/steps/windows.h"

namespace longshore::engine::cpu {

using dnnl::memory;

StepPtr MakePooling(const StepContext& context) {
  const Value& image = context.inputs[0];
  const Value& result = context.outputs[0];
  if (!image.is_static() || !result.is_static() || image.type.type != DType::kFloat) return nullptr;
  const auto window = context.node.attributes.Ints("ksize");
  if (window.size() != 4 || window[0] != 1 || window[3] != 1) return nullptr;
  if (image.elements() == 0 || result.elements() == 0 || !context.node.then.empty()) return nullptr;
  const auto windows = WindowsOf(context.node, image.shape(), result.shape(), window[1], window[2]);
  if (!windows) return nullptr;
  const memory::desc from = Image(image.shape()), to = Image(result.shape());
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  // TensorFlow averages only the elements inside the image, without padding.
  const auto algorithm =
      context.node.op == "MaxPool" ? dnnl::algorithm::pooling_max : dnnl::algorithm::pooling_avg_exclude_padding;
  const dnnl::pooling_forward::primitive_desc descriptor(
      OneDnnEngine(), dnnl::prop_kind::forward_inference, algorithm, from, to, windows->strides, {window[1], window[2]},
      windows->dilations, windows->before, windows->after, attributes);
  return MakeOneDnnStep(descriptor, {{DNNL_ARG_SRC, from, image.id}, {DNNL_ARG_DST, to, result.id}});
}

}  // namespace longshore::engine::cpu
