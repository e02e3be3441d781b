#include "serving-node/engine/cpu/steps/windows.h"

#include <algorithm>

namespace longshore::engine::cpu {
namespace {

// oneDNN computes positions in windows with 32-bit integers. So the reference kernel computes windows that span more
// than this number of positions.
constexpr int64_t kReachMax = int64_t{1} << 28;

int64_t At(const std::vector<int64_t>& values, size_t i, int64_t absent) {
  return i < values.size() ? values[i] : absent;
}

}  // namespace

std::optional<Windows> WindowsOf(const graph::Node& node, const Shape& image, const Shape& result, int64_t rows,
                                 int64_t columns) {
  const auto& attributes = node.attributes;
  const auto strides = attributes.Ints("strides");
  const auto dilations = attributes.Ints("dilations");
  const auto paddings = attributes.Ints("explicit_paddings");
  const std::string padding = attributes.Text("padding", "");
  if (attributes.Text("data_format", "NHWC") != "NHWC" || image.size() != 4 || result.size() != 4) return std::nullopt;
  if (At(strides, 0, 1) != 1 || At(strides, 3, 1) != 1 || At(dilations, 0, 1) != 1 || At(dilations, 3, 1) != 1)
    return std::nullopt;
  Windows windows;
  const int64_t sizes[] = {rows, columns};
  for (size_t axis = 1; axis <= 2; ++axis) {
    const int64_t stride = At(strides, axis, 1), dilation = At(dilations, axis, 1);
    const int64_t reach = (sizes[axis - 1] - 1) * dilation + 1;
    const int64_t wanted = std::max<int64_t>(0, (result[axis] - 1) * stride + reach - image[axis]);
    const bool is_explicit = padding == "EXPLICIT";
    const int64_t before = is_explicit ? At(paddings, 2 * axis, 0) : padding == "SAME" ? wanted / 2 : 0;
    const int64_t after = is_explicit ? At(paddings, 2 * axis + 1, 0) : padding == "SAME" ? wanted - wanted / 2 : 0;
    if (stride < 1 || dilation < 1 || reach > kReachMax || wanted > kReachMax) return std::nullopt;
    windows.strides.push_back(stride);
    windows.dilations.push_back(dilation - 1);
    windows.before.push_back(before);
    windows.after.push_back(after);
  }
  return windows;
}

dnnl::memory::desc Image(const Shape& shape) { return Dense({shape[0], shape[3], shape[1], shape[2]}, {0, 2, 3, 1}); }

}  // namespace longshore::engine::cpu
