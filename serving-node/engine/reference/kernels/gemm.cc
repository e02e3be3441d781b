#include "serving-node/engine/reference/kernels/gemm.h"

#include <algorithm>
#include <type_traits>

namespace longshore::engine::reference::kernels {
namespace {

constexpr int64_t kRows = 4;
constexpr int64_t kColumns = 16;

// A block of the result is held in registers while k runs. `Columns` is a constant so that the compiler unrolls it.
template <typename T, int64_t Rows>
void FullBlock(const T* a, const T* b, T* out, int64_t k, int64_t n) {
  // double holds half as many in a register; a group of lanes is a vector type that the compiler splits as it needs.
  typedef T Lanes __attribute__((vector_size(kColumns * sizeof(T)), aligned(alignof(T))));
  Lanes sums[Rows] = {};
  for (int64_t p = 0; p < k; ++p) {
    const Lanes row = *reinterpret_cast<const Lanes*>(b + p * n);
    for (int64_t i = 0; i < Rows; ++i) sums[i] += a[i * k + p] * row;
  }
  for (int64_t i = 0; i < Rows; ++i) *reinterpret_cast<Lanes*>(out + i * n) = sums[i];
}

template <typename T>
void EdgeBlock(const T* a, const T* b, T* out, int64_t rows, int64_t columns, int64_t k, int64_t n) {
  for (int64_t i = 0; i < rows; ++i) {
    std::fill_n(out + i * n, columns, T{0});
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t j = 0; j < columns; ++j) out[i * n + j] += a[i * k + p] * b[p * n + j];
    }
  }
}

// Integers wrap around: summed as unsigned numbers.
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

template <typename T>
void BlockedProduct(const T* a, const T* b, T* out, int64_t m, int64_t k, int64_t n) {
  const int64_t full_columns = n - n % kColumns;
  for (int64_t j = 0; j < full_columns; j += kColumns) {
    int64_t i = 0;
    for (; i + kRows <= m; i += kRows) FullBlock<T, kRows>(a + i * k, b + j, out + i * n + j, k, n);
    for (; i < m; ++i) FullBlock<T, 1>(a + i * k, b + j, out + i * n + j, k, n);
  }
  if (full_columns < n) EdgeBlock(a, b + full_columns, out + full_columns, m, n - full_columns, k, n);
}

}  // namespace

template <>
void Gemm(const float* a, const float* b, float* out, int64_t m, int64_t k, int64_t n) {
  BlockedProduct(a, b, out, m, k, n);
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

}  // namespace longshore::engine::reference::kernels
