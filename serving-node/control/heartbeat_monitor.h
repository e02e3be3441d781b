// Measures the time since the last message of a controller. Has its own thread, because a write to a hanging controller
// may block, and an open stream does not prove that the controller is alive. Uses the monotonic clock: a step of the
// wall clock must not make the node set the weight of all candidates to 0.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>

#include "common/base/clock.h"
#include "common/os/ticker.h"

namespace longshore::control {

// Thread-safe.
class HeartbeatMonitor {
 public:
  // Calls on_check once per interval, on its own thread, until the monitor is destroyed. `silent` is the time since the
  // last message; before the first message, the time since the construction.
  HeartbeatMonitor(const MonotonicClock& clock, std::chrono::milliseconds interval,
                   std::function<void(Duration silent)> on_check);

  // Must be called for every message of a controller.
  void NoteMessage();

 private:
  void Check();

  const MonotonicClock& clock_;
  const std::function<void(Duration)> on_check_;
  std::mutex mutex_;
  MonotonicPoint last_message_;  // Guarded by mutex_.
  Ticker ticker_;
};

}  // namespace longshore::control
