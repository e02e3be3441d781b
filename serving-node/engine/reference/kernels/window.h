// Windows that slide over images: what convolution and pooling share. Images are [batch, height, width, channels].
#pragma once

#include "serving-node/engine/reference/kernels/kernel.h"

namespace longshore::engine::reference::kernels {

// One direction, height or width.
struct Slide {
  int64_t size = 0;    // Of the image.
  int64_t window = 1;  // Of the window, without what dilation spreads.
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  // Padding in front.
  int64_t out = 0;     // Of the result.
};

// Sets `before` and `out` from the rest. SAME: as many places as strides begin inside of the image, and the padding is
// shared, the odd one behind. VALID and EXPLICIT: the padding is as given.
Status PlaceWindow(const std::string& padding, int64_t before, int64_t after, Slide* slide);

// Strides, dilations and explicit paddings up to here: what is computed with them then fits into 64 bits.
inline constexpr int64_t kStepMax = 1 << 24;
bool AreSteps(const std::vector<int64_t>& list);

// The shape that a tensor of sizes names, for what is computed backwards: the image that a convolution would have had.
Result<Shape> ImageShapeOf(const Tensor& sizes);

// Both directions, with the strides, dilations and padding of the node. Requires: CheckWindow, and an image of rank 4.
struct Window {
  Slide rows;
  Slide columns;
};
Result<Window> WindowOf(const Call& call, const Shape& image, int64_t window_rows, int64_t window_columns);

// Unimplemented unless images are NHWC, strides are over height and width only, and the padding is known.
Status CheckWindow(const graph::Node& node);

}  // namespace longshore::engine::reference::kernels
