#include "serving-node/engine/cpu/steps/arena.h"

#include <algorithm>
#include <numeric>

namespace longshore::engine::cpu {
namespace {

bool Meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

struct Placed {
  size_t begin = 0;
  size_t end = 0;
  size_t value = 0;
};

// Returns the lowest offset at which `bytes` bytes are free. Requires: `taken` is sorted by begin.
size_t LowestPlace(const std::vector<Placed>& taken, size_t bytes) {
  size_t at = 0;
  for (const Placed& placed : taken) {
    if (placed.begin >= at + bytes) break;
    at = std::max(at, placed.end);
  }
  return at;
}

}  // namespace

ArenaPlan PlanArena(std::span<const Lifetime> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return values[i].bytes; });
  ArenaPlan plan{.offsets = std::vector<size_t>(values.size()), .bytes = 0};
  std::vector<Placed> all;
  for (const size_t value : order) {
    const size_t bytes = RoundedUp(values[value].bytes);
    if (bytes == 0) continue;
    std::vector<Placed> taken;
    for (const Placed& placed : all) {
      if (Meet(values[placed.value], values[value])) taken.push_back(placed);
    }
    const size_t begin = LowestPlace(taken, bytes);
    plan.offsets[value] = begin;
    plan.bytes = std::max(plan.bytes, begin + bytes);
    const auto behind = std::ranges::upper_bound(all, begin, {}, &Placed::begin);
    all.insert(behind, {begin, begin + bytes, value});
  }
  return plan;
}

}  // namespace longshore::engine::cpu
