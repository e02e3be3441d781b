// The random number generator Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), and
// TensorFlow's conversion of its numbers to uniform and normal ones. The same seeds give the same values as in
// TensorFlow.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "serving-node/tensor/half.h"

namespace longshore::engine::kernels::random {

// A stream of blocks of four numbers. Skipping any number of blocks takes constant time.
class Philox {
 public:
  using Block = std::array<uint32_t, 4>;
  using Key = std::array<uint32_t, 2>;

  Philox() = default;
  Philox(const Block& counter, const Key& key) : counter_(counter), key_(key) {}
  // The stream that TensorFlow uses for stateful ops with these seeds.
  Philox(uint64_t seed, uint64_t seed2) : counter_{0, 0, Low(seed2), High(seed2)}, key_{Low(seed), High(seed)} {}

  void Skip(uint64_t blocks) {
    const uint64_t low = (uint64_t{counter_[1]} << 32 | counter_[0]) + blocks;
    counter_[0] = Low(low);
    counter_[1] = High(low);
    if (low < blocks && ++counter_[2] == 0) ++counter_[3];
  }

  Block Next() {
    Block block = counter_;
    Key key = key_;
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xD2511F53} * block[0], b = uint64_t{0xCD9E8D57} * block[2];
      block = {High(b) ^ block[1] ^ key[0], Low(b), High(a) ^ block[3] ^ key[1], Low(a)};
      key[0] += 0x9E3779B9;
      key[1] += 0xBB67AE85;
    }
    Skip(1);
    return block;
  }

  static uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
  static uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

 private:
  Block counter_{};
  Key key_{};
};

// Reads the stream one number at a time.
class PhiloxNumbers {
 public:
  explicit PhiloxNumbers(const Philox& philox) : philox_(philox) {}
  uint32_t Next() {
    if (used_ == 4) {
      block_ = philox_.Next();
      used_ = 0;
    }
    return block_[used_++];
  }
  uint64_t NextPair() {
    const uint32_t low = Next();
    return uint64_t{Next()} << 32 | low;
  }

 private:
  Philox philox_;
  Philox::Block block_{};
  size_t used_ = 4;
};

// Uniform numbers from [0, 1). The random bits become the mantissa of a number in [1, 2), from which 1 is subtracted.
inline float UniformFloat(uint32_t x) { return std::bit_cast<float>((x & 0x7fffffU) | 0x3f800000U) - 1.0F; }
inline double UniformDouble(uint32_t high, uint32_t low) {
  return std::bit_cast<double>(uint64_t{high & 0xfffffU} << 32 | low | uint64_t{1023} << 52) - 1.0;
}
inline uint16_t UniformHalf(uint32_t x) {
  return tensor::FloatToHalf(tensor::HalfToFloat(static_cast<uint16_t>((x & 0x3ffU) | 15U << 10)) - 1.0F);
}
inline uint16_t UniformBfloat16(uint32_t x) {
  return tensor::FloatToBfloat16(tensor::Bfloat16ToFloat(static_cast<uint16_t>((x & 0x7fU) | 127U << 7)) - 1.0F);
}

// The Box-Muller transform, which makes two normal numbers from two uniform ones.
template <typename T>
std::array<T, 2> NormalPair(T first, T second) {
  const T radius = std::sqrt(T{-2} * std::log(std::max(first, static_cast<T>(1.0e-7F))));
  const T angle = static_cast<T>(2 * std::numbers::pi * static_cast<double>(second));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

}  // namespace longshore::engine::kernels::random
