// Draws a sample of values whose number is not known before.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/base/mix.h"

namespace longshore::golden_files {

// Draws `size` of the values that are offered; all of them if there are fewer, or if `size` is 0. Each set of `size`
// values has the same probability (algorithm R: Vitter, Random Sampling with a Reservoir, 1985). The same seed draws
// the same values. Not thread-safe.
template <typename T>
class Reservoir {
 public:
  Reservoir(size_t size, uint64_t seed) : size_(size), state_(seed) {}

  void Offer(T value) {
    const size_t number = offered_++;
    const bool has_room = size_ == 0 || number < size_;
    const size_t slot = has_room ? number : Below(offered_);
    if (has_room || slot < size_) slots_[slot] = {number, std::move(value)};
  }

  size_t offered() const { return offered_; }

  // Returns the drawn values in the order in which they were offered.
  std::vector<T> Take() {
    std::map<size_t, T> by_number;
    for (auto& [_, drawn] : slots_) by_number.insert(std::move(drawn));
    slots_.clear();
    std::vector<T> values;
    for (auto& [_, value] : by_number) values.push_back(std::move(value));
    return values;
  }

 private:
  // A number in [0, limit), from the generator SplitMix64.
  size_t Below(size_t limit) {
    state_ += kGolden64;
    return Mix64(state_) % limit;
  }

  const size_t size_;
  uint64_t state_;
  size_t offered_ = 0;
  std::map<size_t, std::pair<size_t, T>> slots_;  // A value with its number among those that were offered.
};

}  // namespace longshore::golden_files
