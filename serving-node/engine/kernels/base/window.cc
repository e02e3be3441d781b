#include "serving-node/engine/kernels/base/window.h"

#include <algorithm>

namespace longshore::engine::kernels {
namespace {

// Returns an entry of a list of strides or dilations; 1 if the list is left out.
int64_t Entry(const std::vector<int64_t>& list, size_t at) { return at < list.size() ? list[at] : 1; }

}  // namespace

Status PlaceWindow(const std::string& padding, int64_t before, int64_t after, Slide* slide) {
  if (slide->window < 1) return InvalidArgument("the window has size {}, but must be at least 1", slide->window);
  const int64_t reach = (slide->window - 1) * slide->dilation + 1;
  if (padding == "SAME") {
    slide->out = (slide->size + slide->stride - 1) / slide->stride;
    const int64_t total = std::max<int64_t>((slide->out - 1) * slide->stride + reach - slide->size, 0);
    slide->before = total / 2;
    return {};
  }
  slide->before = before;
  const int64_t room = slide->size + before + after - reach;
  // If the window is longer than the padded image by at most a stride, the result is empty; if by more, that is an
  // error.
  if (room + slide->stride < 0)
    return InvalidArgument("a window that spans {} places does not fit into {} places of the input, padding included",
                           reach, slide->size + before + after);
  slide->out = (room + slide->stride) / slide->stride;
  return {};
}

Result<Window> WindowOf(const Call& call, const Shape& image, int64_t window_rows, int64_t window_columns) {
  const auto strides = call.attributes().Ints("strides");
  const auto dilations = call.attributes().Ints("dilations");
  const std::string padding = call.attributes().Text("padding", "VALID");
  const auto given = call.attributes().Ints("explicit_paddings");
  const auto pad = [&](size_t at) { return padding == "EXPLICIT" && at < given.size() ? given[at] : 0; };
  Window window;
  window.rows = {image[1], window_rows, Entry(strides, 1), Entry(dilations, 1), 0, 0};
  window.columns = {image[2], window_columns, Entry(strides, 2), Entry(dilations, 2), 0, 0};
  RETURN_IF_ERROR(PlaceWindow(padding, pad(2), pad(3), &window.rows));
  RETURN_IF_ERROR(PlaceWindow(padding, pad(4), pad(5), &window.columns));
  return window;
}

Status CheckWindow(const graph::Node& node) {
  const std::string format = node.attributes.Text("data_format", "NHWC");
  if (format != "NHWC") return Unimplemented("{} with data_format {}", node.op, format);
  const std::string padding = node.attributes.Text("padding", "VALID");
  if (padding != "SAME" && padding != "VALID" && padding != "EXPLICIT")
    return Unimplemented("{} with padding {}", node.op, padding);
  for (const char* name : {"strides", "dilations", "ksize"}) {
    const auto list = node.attributes.Ints(name);
    if (list.empty()) continue;
    if (list.size() != 4 || list[0] != 1 || list[3] != 1 || !AreSteps(list))
      return Unimplemented("{} with {} {}", node.op, name, ToString(list));
  }
  const auto explicit_paddings = node.attributes.Ints("explicit_paddings");
  const auto is_invalid_padding = [](int64_t p) { return p < 0 || p > kStepMax; };
  if (std::ranges::any_of(explicit_paddings, is_invalid_padding))
    return Unimplemented("{} with explicit_paddings {}", node.op, ToString(explicit_paddings));
  return {};
}

bool AreSteps(const std::vector<int64_t>& list) {
  return std::ranges::all_of(list, [](int64_t step) { return step >= 1 && step <= kStepMax; });
}

Result<Shape> ImageShapeOf(const Tensor& sizes) {
  ASSIGN_OR_RETURN(Shape shape, IntsOf(sizes, "input_sizes"));
  const auto is_invalid_size = [](int64_t size) {
    return size < 0 || size > static_cast<int64_t>(tensor::kTensorBytesMax);
  };
  if (std::ranges::any_of(shape, is_invalid_size))
    return InvalidArgument("input_sizes {} are negative or too large", ToString(shape));
  return shape;
}

}  // namespace longshore::engine::kernels
