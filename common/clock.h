// Time as an input: decisions take a TimePoint, loops take a Clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace longshore {

using Duration = std::chrono::microseconds;
// Microseconds since the Unix epoch. Wall time, because what is written to a status must survive restarts.
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

// A clock that stands still until it is told otherwise.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(TimePoint now = TimePoint{}) : now_(now) {}
  TimePoint Now() const override { return now_; }
  void Advance(Duration by) { now_ += by; }

 private:
  TimePoint now_;
};

inline int64_t ToUnixMillis(TimePoint at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}
inline TimePoint FromUnixMillis(int64_t ms) { return TimePoint{std::chrono::milliseconds(ms)}; }

}  // namespace longshore
