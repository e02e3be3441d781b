#include "serving-node/engine/kernels/base/gemm.h"

#include <type_traits>

#include "serving-node/engine/kernels/base/blocked_product.h"
#include "serving-node/engine/kernels/base/wide_product.h"

namespace longshore::engine::kernels {
namespace {

// Integers are summed as unsigned numbers, so that an overflow wraps around.
template <typename T>
void PlainProduct(const T* a, const T* b, T* out, int64_t m, int64_t k, int64_t n) {
  using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      Sum sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += static_cast<Sum>(a[i * k + p]) * static_cast<Sum>(b[p * n + j]);
      out[i * n + j] = static_cast<T>(sum);
    }
  }
}

using Product = void (*)(const float* a, const float* b, float* out, int64_t m, int64_t k, int64_t n);

Product FastestProduct() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return ProductByAvx2;
#endif
  return BlockedProduct<float>;
}

}  // namespace

template <>
void Gemm(const float* a, const float* b, float* out, int64_t m, int64_t k, int64_t n) {
  static const Product product = FastestProduct();
  product(a, b, out, m, k, n);
}
template <>
void Gemm(const double* a, const double* b, double* out, int64_t m, int64_t k, int64_t n) {
  BlockedProduct(a, b, out, m, k, n);
}
template <>
void Gemm(const int32_t* a, const int32_t* b, int32_t* out, int64_t m, int64_t k, int64_t n) {
  PlainProduct(a, b, out, m, k, n);
}
template <>
void Gemm(const int64_t* a, const int64_t* b, int64_t* out, int64_t m, int64_t k, int64_t n) {
  PlainProduct(a, b, out, m, k, n);
}

}  // namespace longshore::engine::kernels
