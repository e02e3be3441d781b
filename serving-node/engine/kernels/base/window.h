// Windows that slide over images, for convolution and pooling. Images are [batch, height, width, channels].
#pragma once

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels {

// One direction, height or width, of an image and of the window on it.
struct Slide {
  int64_t size = 0;    // The number of places of the image.
  int64_t window = 1;  // The number of places of the window, before dilation.
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  // Padding before the image.
  int64_t out = 0;     // The number of places of the result.
};

// Sets slide->before and slide->out. SAME: the result has ceil(size / stride) places; half of the padding, rounded
// down, is before the image, and the arguments `before` and `after` are ignored. VALID and EXPLICIT: these arguments
// are the padding before and after the image.
Status PlaceWindow(const std::string& padding, int64_t before, int64_t after, Slide* slide);

// The upper limit of strides, dilations and explicit paddings, so that computations with them fit into 64 bits.
inline constexpr int64_t kStepMax = 1 << 24;
// True if all values are in [1, kStepMax].
bool AreSteps(const std::vector<int64_t>& list);

// Reads the shape of an image from a tensor of sizes. For ops that compute back from the result of a convolution to its
// image, such as Conv2DBackpropInput.
Result<Shape> ImageShapeOf(const Tensor& sizes);

// Both directions of a window, with the strides, dilations and padding of the node. WindowOf requires that CheckWindow
// succeeded and that the image is of rank 4.
struct Window {
  Slide rows;
  Slide columns;
};
Result<Window> WindowOf(const Call& call, const Shape& image, int64_t window_rows, int64_t window_columns);

// Returns Unimplemented unless images are NHWC, strides apply to height and width only, and the padding is a known one.
Status CheckWindow(const graph::Node& node);

}  // namespace longshore::engine::kernels
