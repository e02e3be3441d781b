// How long a request that comes now would wait before it runs, judged by what requests took of late.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "common/clock.h"
#include "serving-node/batching/batching.h"

namespace longshore::routing {

// Thread-safe.
class QueueDelay {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `load` was read just now. The cost of a request is the mean since one to two kWindow ago, or, while none has run
  // since then, what it was before.
  Duration Of(const batching::Load& load, TimePoint now);

  // Whether the next window begins with whatever is read now; takes no lock.
  bool WantsReading(TimePoint now) const {
    return now.time_since_epoch().count() >= next_reading_.load(std::memory_order_relaxed);
  }

  static constexpr std::chrono::seconds kWindow{1};

 private:
  struct Reading {
    TimePoint at{};
    double busy_seconds = 0;
    int64_t started = 0;
  };

  std::atomic<TimePoint::rep> next_reading_{0};
  std::mutex mutex_;
  Reading older_;
  Reading newer_;
  double seconds_per_request_ = 0;
};

}  // namespace longshore::routing
