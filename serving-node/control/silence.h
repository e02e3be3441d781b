// How long nothing was heard from a controller, measured on a thread of its own: what writes to a controller that
// stands still may wait for it, and a stream that is open says nothing. On the
// monotonic clock: a step of the wall clock must not take the weight from every candidate.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "common/clock.h"

namespace longshore::control {

// Thread-safe.
class SilenceWatch {
 public:
  // Calls back every interval, on its thread, until it is destroyed. The silence begins now.
  SilenceWatch(const MonotonicClock& clock, std::chrono::milliseconds interval,
               std::function<void(Duration silent)> on_look);
  ~SilenceWatch();
  SilenceWatch(const SilenceWatch&) = delete;
  SilenceWatch& operator=(const SilenceWatch&) = delete;

  // A message of a controller came.
  void Heard();

 private:
  void Watch();

  const MonotonicClock& clock_;
  const std::chrono::milliseconds interval_;
  const std::function<void(Duration)> on_look_;
  std::mutex mutex_;
  std::condition_variable changed_;
  MonotonicPoint heard_at_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace longshore::control
