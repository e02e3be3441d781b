#include "serving-node/engine/kernels/base/gemm.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "serving-node/engine/kernels/base/wide_product.h"

namespace longshore::engine::kernels {
namespace {

struct Sizes {
  int64_t m, k, n;
};
// In order: whole blocks only; with remaining rows; with remaining columns; with both; smaller than a block; nothing to
// sum; no rows.
const std::vector<Sizes> kSizes = {{8, 5, 32}, {7, 9, 16}, {4, 3, 21}, {9, 33, 50}, {1, 1, 1}, {3, 0, 17}, {0, 4, 4}};

std::vector<float> Numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = normal(random);
  return numbers;
}

std::vector<float> SumInOrder(const std::vector<float>& a, const std::vector<float>& b, const Sizes& sizes) {
  std::vector<float> out(static_cast<size_t>(sizes.m * sizes.n), 0);
  for (int64_t i = 0; i < sizes.m; ++i) {
    for (int64_t p = 0; p < sizes.k; ++p) {
      for (int64_t j = 0; j < sizes.n; ++j) {
        // volatile keeps the compiler from fusing the multiplication and the addition.
        volatile float product = a[static_cast<size_t>(i * sizes.k + p)] * b[static_cast<size_t>(p * sizes.n + j)];
        out[static_cast<size_t>(i * sizes.n + j)] += product;
      }
    }
  }
  return out;
}

TEST(Gemm, SumsInOrderToTheLastBitForEveryRegisterWidth) {
  for (const Sizes& sizes : kSizes) {
    SCOPED_TRACE(testing::Message() << sizes.m << "x" << sizes.k << " * " << sizes.k << "x" << sizes.n);
    const auto a = Numbers(sizes.m * sizes.k, 1);
    const auto b = Numbers(sizes.k * sizes.n, 2);
    const auto wanted = SumInOrder(a, b, sizes);
    std::vector<float> out(wanted.size(), -1);
    Gemm(a.data(), b.data(), out.data(), sizes.m, sizes.k, sizes.n);
    EXPECT_EQ(out, wanted);
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2")) continue;
    out.assign(out.size(), -1);
    ProductByAvx2(a.data(), b.data(), out.data(), sizes.m, sizes.k, sizes.n);
    EXPECT_EQ(out, wanted);
#endif
  }
}

// Doubles have a test of their own: a register holds fewer doubles than floats, and ProductByAvx2 does not compute
// doubles.
TEST(Gemm, SumsDoublesInBlocks) {
  for (const Sizes& sizes : kSizes) {
    const auto a = Numbers(sizes.m * sizes.k, 3);
    const auto b = Numbers(sizes.k * sizes.n, 4);
    const std::vector<double> wide_a(a.begin(), a.end());
    const std::vector<double> wide_b(b.begin(), b.end());
    const auto wanted = SumInOrder(a, b, sizes);
    std::vector<double> out(wanted.size(), -1);
    Gemm(wide_a.data(), wide_b.data(), out.data(), sizes.m, sizes.k, sizes.n);
    for (size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], wanted[i], 1e-4);
  }
}

}  // namespace
}  // namespace longshore::engine::kernels
