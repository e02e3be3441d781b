// Where values lie in the memory of a run.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace longshore::engine::cpu {

inline constexpr size_t kAlignment = 64;  // Of a cache line, and of the widest register.

constexpr size_t RoundedUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// A value from the step that makes it to the last one that reads it, both included.
struct Lifetime {
  size_t bytes = 0;
  size_t first = 0;
  size_t last = 0;
};

struct ArenaPlan {
  std::vector<size_t> offsets;  // By value, multiples of kAlignment.
  size_t bytes = 0;
};

// Two values share bytes only when they do not live at the same step. The largest are placed first, each as low as it
// fits: near the optimum for networks, whose large values live short.
ArenaPlan PlanArena(std::span<const Lifetime> values);

}  // namespace longshore::engine::cpu
