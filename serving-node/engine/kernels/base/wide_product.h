// The matrix product for x86 processors whose registers hold eight floats (AVX2).
#pragma once

#include <cstdint>

namespace longshore::engine::kernels {

// Computes the same results as Gemm, to the last bit, because multiplications and additions are not fused. Requires:
// the processor has AVX2.
void ProductByAvx2(const float* a, const float* b, float* out, int64_t m, int64_t k, int64_t n);

}  // namespace longshore::engine::kernels
