// A matrix product computed in blocks that fit into the vector registers. Each source file that includes this header
// compiles it with its own compiler flags, for its own set of processors.
#pragma once

#include <algorithm>
#include <cstdint>

// In an anonymous namespace: code compiled for one set of processors must not be linked into another source.
namespace longshore::engine::kernels {
namespace {

#if defined(__AVX2__)
constexpr int64_t kRegisterBytes = 32;
#else
constexpr int64_t kRegisterBytes = 16;
#endif
constexpr int64_t kRows = 4;
// The columns of a block. Two registers hold a part of a row of b. With the sums for four rows of a (eight registers)
// and one register that holds a factor of a in all lanes, 11 of the 16 registers are in use.
template <typename T>
constexpr int64_t kColumns = 2 * kRegisterBytes / static_cast<int64_t>(sizeof(T));

// Computes one block of the result, which stays in registers while p runs over k. `Rows` is a constant so that the
// compiler unrolls the loops. The vector types are exactly as wide as a register: GCC keeps the sums of wider types in
// memory.
template <typename T, int64_t Rows>
void FullBlock(const T* a, const T* b, T* out, int64_t k, int64_t n) {
  typedef T Lanes __attribute__((vector_size(kRegisterBytes), aligned(alignof(T))));
  constexpr int64_t kHalf = kColumns<T> / 2;
  Lanes left[Rows] = {};
  Lanes right[Rows] = {};
  for (int64_t p = 0; p < k; ++p) {
    const Lanes b_left = *reinterpret_cast<const Lanes*>(b + p * n);
    const Lanes b_right = *reinterpret_cast<const Lanes*>(b + p * n + kHalf);
    for (int64_t i = 0; i < Rows; ++i) {
      left[i] += a[i * k + p] * b_left;
      right[i] += a[i * k + p] * b_right;
    }
  }
  for (int64_t i = 0; i < Rows; ++i) {
    *reinterpret_cast<Lanes*>(out + i * n) = left[i];
    *reinterpret_cast<Lanes*>(out + i * n + kHalf) = right[i];
  }
}

template <typename T>
void EdgeBlock(const T* a, const T* b, T* out, int64_t rows, int64_t columns, int64_t k, int64_t n) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) out[i * n + j] = 0;
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t j = 0; j < columns; ++j) out[i * n + j] += a[i * k + p] * b[p * n + j];
    }
  }
}

template <typename T>
void BlockedProduct(const T* a, const T* b, T* out, int64_t m, int64_t k, int64_t n) {
  if (k == 0) {  // Then the operands may be null pointers.
    std::fill_n(out, m * n, T{0});
    return;
  }
  const int64_t full_columns = n - n % kColumns<T>;
  for (int64_t j = 0; j < full_columns; j += kColumns<T>) {
    int64_t i = 0;
    for (; i + kRows <= m; i += kRows) FullBlock<T, kRows>(a + i * k, b + j, out + i * n + j, k, n);
    for (; i < m; ++i) FullBlock<T, 1>(a + i * k, b + j, out + i * n + j, k, n);
  }
  if (full_columns < n) EdgeBlock(a, b + full_columns, out + full_columns, m, n - full_columns, k, n);
}

}  // namespace
}  // namespace longshore::engine::kernels
