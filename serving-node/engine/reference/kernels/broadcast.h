// Broadcasting as NumPy and TensorFlow have it: dimensions of size 1 stretch, missing ones in front count as 1.
#pragma once

#include <array>
#include <cstddef>

#include "serving-node/engine/reference/kernels/kernel.h"

namespace longshore::engine::reference::kernels {

// The shape of both together. InvalidArgument when they do not fit.
Result<Shape> BroadcastShape(const Shape& a, const Shape& b);

// For each dimension of `out`, how far to step in a tensor of `shape`: 0 where it stretches.
std::vector<int64_t> BroadcastStrides(const Shape& shape, const Shape& out);

// Calls row(out_offset, offsets, count) for each innermost row of `out`, with the offset of its first element in each
// of N tensors. `strides` are one list per tensor; the innermost stride of each is strides[i].back(), or 0 for a scalar
// `out`.
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

}  // namespace longshore::engine::reference::kernels
