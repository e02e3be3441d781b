// Which runs are so short that handing them to another thread would cost more than they do.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>

namespace longshore::engine::reference {

// Of one signature. Learns from the runs there were: up to which size of inputs they are short. Thread-safe; of notes
// taken at once one may be lost, and the next one mends it.
class ShortRuns {
 public:
  static constexpr std::chrono::microseconds kShort{50};

  bool AreLikely(size_t input_bytes) const { return input_bytes < limit_.load(std::memory_order_relaxed); }

  void Note(size_t input_bytes, std::chrono::nanoseconds took) {
    const size_t limit = limit_.load(std::memory_order_relaxed);
    const size_t now = took < kShort ? std::max(limit, input_bytes + 1) : std::min(limit, input_bytes);
    if (now != limit) limit_.store(now, std::memory_order_relaxed);
  }

 private:
  std::atomic<size_t> limit_ = 0;  // Runs with less were short.
};

}  // namespace longshore::engine::reference
