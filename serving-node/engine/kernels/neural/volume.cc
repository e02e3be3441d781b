#include "serving-node/engine/kernels/neural/volume.h"

namespace longshore::engine::kernels::neural {

Result<Volume> VolumeOf(const Call& call, const Shape& volume, const std::array<int64_t, 3>& window) {
  const auto strides = call.attributes().Ints("strides");
  const auto dilations = call.attributes().Ints("dilations");
  const std::string padding = call.attributes().Text("padding", "VALID");
  Volume slides;
  for (size_t k = 0; k < 3; ++k) {
    const int64_t stride = strides.empty() ? 1 : strides[k + 1];
    const int64_t dilation = dilations.empty() ? 1 : dilations[k + 1];
    slides[k] = {volume[k + 1], window[k], stride, dilation, 0, 0};
    RETURN_IF_ERROR(PlaceWindow(padding, 0, 0, &slides[k]));
  }
  return slides;
}

Status CheckVolume(const graph::Node& node) {
  const std::string format = node.attributes.Text("data_format", "NDHWC");
  if (format != "NDHWC") return Unimplemented("{} with data_format {}", node.op, format);
  const std::string padding = node.attributes.Text("padding", "VALID");
  if (padding != "SAME" && padding != "VALID") return Unimplemented("{} with padding {}", node.op, padding);
  for (const char* name : {"strides", "dilations", "ksize"}) {
    const auto list = node.attributes.Ints(name);
    if (list.empty()) continue;
    if (list.size() != 5 || list[0] != 1 || list[4] != 1 || !AreSteps(list))
      return Unimplemented("{} with {} {}", node.op, name, ToString(list));
  }
  return {};
}

}  // namespace longshore::engine::kernels::neural
