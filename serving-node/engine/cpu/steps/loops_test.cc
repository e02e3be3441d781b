#include "serving-node/engine/cpu/steps/loops.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "tests/seeds/seeds.h"

namespace longshore::engine::cpu {
namespace {

// The scalar tail of a loop must compute the same bits as its vectorised part, so that a row has the same result at
// every position of a batch.
TEST(Loops, OfOneOperandGiveTheSameBitsAtEveryPosition) {
  constexpr int64_t kCount = 53;  // Three registers of 16 numbers and a tail of five.
  std::mt19937 random(seeds::First());
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

TEST(Loops, OfTwoOperandsGiveTheSameBitsAtEveryPosition) {
  constexpr int64_t kCount = 53;
  std::mt19937 random(seeds::First());
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
