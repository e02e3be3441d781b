// Predicts which runs are so short that moving them to another thread would cost more than the run.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>

namespace longshore::engine::host {

// The prediction for one signature. Learns from past runs up to which input size runs are short. Thread-safe; one of
// two concurrent calls of Note may have no effect, which later calls correct.
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
  std::atomic<size_t> limit_ = 0;  // Runs with fewer input bytes are expected to be short.
};

}  // namespace longshore::engine::host
