// Windows over images, as oneDNN wants them told.
#pragma once

#include <optional>

#include "serving-node/engine/cpu/steps/onednn.h"

namespace longshore::engine::cpu {

// Height, then width.
struct Windows {
  dnnl::memory::dims strides;
  dnnl::memory::dims dilations;  // 0 is dense.
  dnnl::memory::dims before;
  dnnl::memory::dims after;
};

// nullopt for what is not over height and width of [batch, height, width, channels] alone.
std::optional<Windows> WindowsOf(const graph::Node& node, const Shape& image, const Shape& result, int64_t rows,
                                 int64_t columns);

// [batch, height, width, channels] as oneDNN counts the dimensions.
dnnl::memory::desc Image(const Shape& shape);

}  // namespace longshore::engine::cpu
