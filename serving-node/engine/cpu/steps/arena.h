// The arena: decides at which offset of a run's buffer each value is stored.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace longshore::engine::cpu {

inline constexpr size_t kAlignment = 64;  // In bytes: the size of a cache line and of the widest register.

constexpr size_t RoundedUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// The size of a value, and the steps between which it is needed: the one that makes it and the last one that reads it,
// both included.
struct Lifetime {
  size_t bytes = 0;
  size_t first = 0;
  size_t last = 0;
};

struct ArenaPlan {
  std::vector<size_t> offsets;  // The offset of each value, a multiple of kAlignment.
  size_t bytes = 0;
};

// Assigns offsets so that values which are needed at the same step do not overlap. Greedy: the largest values first,
// each at the lowest free offset. The result is near the optimum for neural networks, whose large values are
// short-lived.
ArenaPlan PlanArena(std::span<const Lifetime> values);

}  // namespace longshore::engine::cpu
