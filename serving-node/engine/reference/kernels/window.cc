#include "serving-node/engine/reference/kernels/window.h"

#include <algorithm>

namespace longshore::engine::reference::kernels {
namespace {

// How far the window moves in one direction: from a list of four, or 1 where the list is left out.
int64_t Entry(const std::vector<int64_t>& list, size_t at) { return at < list.size() ? list[at] : 1; }

// SAME: as many places as strides begin inside of the image, and the padding is shared, the odd one behind.
Status Place(const std::string& padding, int64_t before, int64_t after, Slide* slide) {
  if (slide->window < 1) return InvalidArgument("a window of size {}", slide->window);
  const int64_t reach = (slide->window - 1) * slide->dilation + 1;
  if (padding == "SAME") {
    slide->out = (slide->size + slide->stride - 1) / slide->stride;
    const int64_t total = std::max<int64_t>((slide->out - 1) * slide->stride + reach - slide->size, 0);
    slide->before = total / 2;
    return {};
  }
  slide->before = before;
  const int64_t room = slide->size + before + after - reach;
  // A window may reach past the end by less than a stride: then it stands nowhere, and the result is empty.
  if (room + slide->stride < 0)
    return InvalidArgument("a window that reaches {} over {} values", reach, slide->size + before + after);
  slide->out = (room + slide->stride) / slide->stride;
  return {};
}

}  // namespace

Result<Window> WindowOf(const Call& call, const Shape& image, int64_t window_rows, int64_t window_columns) {
  const auto strides = call.attributes().Ints("strides");
  const auto dilations = call.attributes().Ints("dilations");
  const std::string padding = call.attributes().Text("padding", "VALID");
  const auto given = call.attributes().Ints("explicit_paddings");
  const auto pad = [&](size_t at) { return padding == "EXPLICIT" && at < given.size() ? given[at] : 0; };
  Window window;
  window.rows = {image[1], window_rows, Entry(strides, 1), Entry(dilations, 1), 0, 0};
  window.columns = {image[2], window_columns, Entry(strides, 2), Entry(dilations, 2), 0, 0};
  RETURN_IF_ERROR(Place(padding, pad(2), pad(3), &window.rows));
  RETURN_IF_ERROR(Place(padding, pad(4), pad(5), &window.columns));
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
    if (list.size() != 4 || list[0] != 1 || list[3] != 1 || list[1] < 1 || list[2] < 1)
      return Unimplemented("{} with {} {}", node.op, name, ToString(list));
  }
  const auto explicit_paddings = node.attributes.Ints("explicit_paddings");
  const auto is_negative = [](int64_t p) { return p < 0; };
  if (std::any_of(explicit_paddings.begin(), explicit_paddings.end(), is_negative))
    return Unimplemented("{} with negative padding", node.op);
  return {};
}

}  // namespace longshore::engine::reference::kernels
