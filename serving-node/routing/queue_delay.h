// Estimates how long a request that arrives now would wait before it runs, from the recent cost of requests.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "common/base/clock.h"
#include "serving-node/batching/batching.h"

namespace longshore::routing {

// Thread-safe.
class QueueDelay {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Returns the estimated wait. `load` must have been read at `now`. The cost of a request is the mean over the last
  // one to two windows (kWindow); if no request started in that time, the previous mean is used.
  Duration Estimate(const batching::Load& load, TimePoint now);

  // Returns true if the current window is over, so that the next call of Estimate starts a new one. Takes no lock.
  bool NeedsReading(TimePoint now) const {
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
