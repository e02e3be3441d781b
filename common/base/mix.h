// Functions that spread numbers over 64 bits. Their results must never change, because controllers and nodes of
// different versions use them to choose home nodes, and must choose the same ones.
#pragma once

#include <cstdint>

namespace longshore {

// The increment of SplitMix64's counter.
inline constexpr uint64_t kGolden64 = 0x9e3779b97f4a7c15;

// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014): each bit of the number affects about half of the result's
// bits.
inline uint64_t Mix64(uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

// The first output of SplitMix64 with the seed `number`: spreads consecutive numbers evenly.
inline uint64_t Scatter64(uint64_t number) { return Mix64(number + kGolden64); }

}  // namespace longshore
