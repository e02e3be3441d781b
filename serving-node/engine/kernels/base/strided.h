// Copies elements from or to places at fixed distances from each other. The elements are moved, never interpreted.
#pragma once

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels {

// Returns the strides, in elements, of a dense row-major tensor of `shape`.
std::vector<int64_t> Strides(const Shape& shape);

// out[i, j, ...] = in[first + i * strides[0] + j * strides[1] + ...] for a new tensor of `shape`. Requires: all these
// places are inside `in`. Returns ResourceExhausted if the new tensor would exceed the size limit of tensors.
Result<Tensor> StridedCopy(const Tensor& in, int64_t first, const Shape& shape, const std::vector<int64_t>& strides);

// Copies `in` into `out`, beginning at out[first]. `strides` are the strides of `out` along the axes of `in`.
Status CopyInto(const Tensor& in, int64_t first, const std::vector<int64_t>& strides, Tensor* out);

}  // namespace longshore::engine::kernels
