// Time is an argument: a function that decides once takes a point in time, and one that loops takes a clock.
//
// There are two kinds of time, with separate types. TimePoint and Clock are wall time, for times that are stored and
// compared after a restart. MonotonicPoint and MonotonicClock are for timers that exist only in memory: adjusting the
// wall clock does not affect them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace longshore {

using Duration = std::chrono::microseconds;
// Microseconds since the Unix epoch. It is wall time, because times in the `status` of a resource must stay valid after
// a restart.
using TimePoint = std::chrono::time_point<std::chrono::system_clock, Duration>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;
};

class SystemClock final : public Clock {
 public:
  TimePoint Now() const override { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }
};

// A clock that changes only when a test calls Advance.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(TimePoint now = TimePoint{}) : now_(now) {}
  TimePoint Now() const override { return now_; }
  void Advance(Duration by) { now_ += by; }

 private:
  TimePoint now_;
};

using MonotonicPoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

class MonotonicClock {
 public:
  virtual ~MonotonicClock() = default;
  virtual MonotonicPoint Now() const = 0;
};

class SteadyClock final : public MonotonicClock {
 public:
  MonotonicPoint Now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
  }
};

// A monotonic clock that changes only when a test calls Advance. Thread-safe.
class FakeMonotonicClock final : public MonotonicClock {
 public:
  MonotonicPoint Now() const override { return MonotonicPoint{Duration(now_)}; }
  void Advance(Duration by) { now_ += by.count(); }

 private:
  std::atomic<int64_t> now_ = 0;
};

inline int64_t ToUnixMillis(TimePoint at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}
inline TimePoint FromUnixMillis(int64_t ms) { return TimePoint{std::chrono::milliseconds(ms)}; }

}  // namespace longshore
