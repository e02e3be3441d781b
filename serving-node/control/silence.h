// How long nothing was heard from a controller, measured on a thread of its own: what writes to a controller that
// stands still may wait for it, and a stream that is open says nothing. On the monotonic clock: a step of the wall
// clock must not take the weight from every candidate.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>

#include "common/clock.h"
#include "common/ticker.h"

namespace longshore::control {

// Thread-safe.
class SilenceWatch {
 public:
  // Calls back every interval, on its thread, until it is destroyed. The silence begins now.
  SilenceWatch(const MonotonicClock& clock, std::chrono::milliseconds interval,
               std::function<void(Duration silent)> on_look);

  // A message of a controller came.
  void Heard();

 private:
  void Look();

  const MonotonicClock& clock_;
  const std::function<void(Duration)> on_look_;
  std::mutex mutex_;
  MonotonicPoint heard_at_;  // Guarded by mutex_.
  Ticker ticker_;
};

}  // namespace longshore::control
