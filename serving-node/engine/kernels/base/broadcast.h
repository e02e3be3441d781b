// Broadcasting as in NumPy and TensorFlow: dimensions of size 1 stretch, and missing leading dimensions count as 1.
#pragma once

#include <array>
#include <cstddef>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels {

// Returns the shape to which `a` and `b` broadcast; InvalidArgument if they are incompatible.
Result<Shape> BroadcastShape(const Shape& a, const Shape& b);

// Returns for each dimension of `out` the distance in elements between neighbours in a tensor of `shape` that is
// broadcast to `out`; 0 where the dimension stretches.
std::vector<int64_t> BroadcastStrides(const Shape& shape, const Shape& out);

// Calls row(out_offset, offsets, count) for each innermost row of `out`, where `offsets` has the offset of the row's
// first element in each of the N tensors. `strides` has the BroadcastStrides of each tensor. Within a row, tensor i
// advances by strides[i].back(), or by 0 if `out` is a scalar.
template <size_t N, typename Row>
void ForEachRow(const Shape& out, const std::array<std::vector<int64_t>, N>& strides, Row row) {
  const size_t rank = out.size();
  const int64_t count = rank == 0 ? 1 : out[rank - 1];
  const int64_t rows = rank == 0 ? 1 : Product(out, 0, rank - 1);
  if (count == 0) return;
  std::vector<int64_t> at(rank, 0);
  std::array<int64_t, N> offsets{};
  for (int64_t i = 0; i < rows; ++i) {
    row(i * count, offsets, count);
    for (size_t axis = rank < 2 ? 0 : rank - 1; axis-- > 0;) {
      const bool wraps = ++at[axis] == out[axis];
      for (size_t k = 0; k < N; ++k) offsets[k] += wraps ? -strides[k][axis] * (out[axis] - 1) : strides[k][axis];
      if (!wraps) break;
      at[axis] = 0;
    }
  }
}

}  // namespace longshore::engine::kernels
