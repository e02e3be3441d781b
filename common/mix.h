// Numbers spread over 64 bits, the same everywhere and for ever: names of places are found by them.
#pragma once

#include <cstdint>

namespace longshore {

// The step of SplitMix64's counter.
inline constexpr uint64_t kGolden64 = 0x9e3779b97f4a7c15;

// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014): every bit of the number changes half of the result's.
inline uint64_t Mix64(uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

// Of the number-th state of SplitMix64: spreads consecutive numbers evenly.
inline uint64_t Scatter64(uint64_t number) { return Mix64(number + kGolden64); }

}  // namespace longshore
