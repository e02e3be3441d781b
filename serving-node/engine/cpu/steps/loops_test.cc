#include "serving-node/engine/cpu/steps/loops.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

namespace longshore::engine::cpu {
namespace {

// So that a row has the same bits in any place of a batch: what is left over when all wide registers were full is
// computed as the rest.
TEST(Loops, GiveANumberTheSameBitsWhereverItLies) {
  constexpr int64_t kCount = 53;  // Three registers of 16, and five.
  std::mt19937 random(1);
  std::normal_distribution<float> numbers(0, 2);
  for (const char* op : {"Abs", "Elu", "Erf", "Erfc", "Exp", "Gelu", "GeluTanh", "Neg", "Reciprocal", "Relu", "Relu6",
                         "Rsqrt", "Sigmoid", "Silu", "Sqrt", "Square", "Tanh"}) {
    const UnaryLoop loop = FindUnaryLoop(op);
    ASSERT_NE(loop, nullptr) << op;
    for (int round = 0; round < 10'000; ++round) {
      const std::vector<float> in(kCount, numbers(random));
      std::vector<float> out(kCount);
      loop(in.data(), out.data(), kCount);
      for (const float value : out) ASSERT_EQ(std::bit_cast<int>(value), std::bit_cast<int>(out[0])) << op << in[0];
    }
  }
}

TEST(Loops, OfTwoGiveNumbersTheSameBitsWhereverTheyLie) {
  constexpr int64_t kCount = 53;
  std::mt19937 random(2);
  std::normal_distribution<float> numbers(0, 2);
  for (const char* op : {"AddV2", "RealDiv", "Maximum", "Minimum", "Mul", "SquaredDifference", "Sub"}) {
    const BinaryLoops* loops = FindBinaryLoops(op);
    ASSERT_NE(loops, nullptr) << op;
    for (int round = 0; round < 1000; ++round) {
      const std::vector<float> a(kCount, numbers(random)), b(kCount, numbers(random));
      std::vector<float> both(kCount), with_number(kCount), of_number(kCount);
      loops->both(a.data(), b.data(), both.data(), kCount);
      loops->with_number(a.data(), b[0], with_number.data(), kCount);
      loops->of_number(a[0], b.data(), of_number.data(), kCount);
      for (const auto& out : {both, with_number, of_number}) {
        for (const float value : out) ASSERT_EQ(std::bit_cast<int>(value), std::bit_cast<int>(both[0])) << op;
      }
    }
  }
}

}  // namespace
}  // namespace longshore::engine::cpu
