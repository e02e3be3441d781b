// Parameters of convolution and pooling windows for oneDNN.
#pragma once

#include <optional>

#include "serving-node/engine/cpu/steps/onednn.h"

namespace longshore::engine::cpu {

// Each list has the value for height, then for width.
struct Windows {
  dnnl::memory::dims strides;
  dnnl::memory::dims dilations;  // 0 if the window is dense.
  dnnl::memory::dims before;
  dnnl::memory::dims after;
};

// Returns nullopt if the window does not slide only over height and width of [batch, height, width, channels], or if it
// spans too many positions for oneDNN because of its dilation. `rows` and `columns` are the size of the window.
std::optional<Windows> WindowsOf(const graph::Node& node, const Shape& image, const Shape& result, int64_t rows,
                                 int64_t columns);

// The layout of a [batch, height, width, channels] tensor, with dimensions in oneDNN's order (batch, channels, height,
// width).
dnnl::memory::desc Image(const Shape& shape);

}  // namespace longshore::engine::cpu
