// The matrix product that MatMul and the convolutions share.
#pragma once

#include <cstdint>

namespace longshore::engine::kernels {

// out[m, n] = a[m, k] * b[k, n], all row-major and contiguous. Every element is summed over k in ascending order
// whatever m and n are, so the result of a row depends neither on the other rows nor on its position.
template <typename T>
void Gemm(const T* a, const T* b, T* out, int64_t m, int64_t k, int64_t n);

}  // namespace longshore::engine::kernels
