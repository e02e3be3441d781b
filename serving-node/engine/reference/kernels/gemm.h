// The one matrix product that MatMul, Einsum and Conv2D share.
#pragma once

#include <cstdint>

namespace longshore::engine::reference::kernels {

// out[m, n] = a[m, k] * b[k, n], all row-major and without gaps. Every element is summed over k in order, whatever m
// and n are, so a row's result depends neither on its neighbours nor on its place.
template <typename T>
void Gemm(const T* a, const T* b, T* out, int64_t m, int64_t k, int64_t n);

}  // namespace longshore::engine::reference::kernels
