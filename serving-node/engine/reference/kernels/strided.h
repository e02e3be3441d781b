// Elements copied from or to places that lie at fixed distances, without looking at them.
#pragma once

#include "serving-node/engine/reference/kernels/kernel.h"

namespace longshore::engine::reference::kernels {

// How many elements apart neighbours along each axis lie in a tensor of `shape`, the last axis being dense.
std::vector<int64_t> Strides(const Shape& shape);

// out[i, j, ...] = in[first + i * strides[0] + j * strides[1] + ...] for a new tensor of `shape`. The caller has seen
// to it that all places lie within `in`. ResourceExhausted when the tensor would be too large.
Result<Tensor> StridedCopy(const Tensor& in, int64_t first, const Shape& shape, const std::vector<int64_t>& strides);

// Copies `in` into `out` so that in[0, 0, ...] lands on out[first]; `strides` are out's.
Status CopyInto(const Tensor& in, int64_t first, const std::vector<int64_t>& strides, Tensor* out);

}  // namespace longshore::engine::reference::kernels
