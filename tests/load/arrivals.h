// The times at which requests are sent: a Poisson process, which does not wait for answers (open loop).
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace longshore::load {

// Draws the gaps between arrivals. They are independent and exponentially distributed, like those of many independent
// users.
class Arrivals {
 public:
  explicit Arrivals(uint64_t seed) : random_(seed) {}

  // Time from one arrival to the next. Requires: rate_per_second > 0.
  std::chrono::nanoseconds NextGap(double rate_per_second) {
    const double seconds = std::exponential_distribution<double>(rate_per_second)(random_);
    return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
  }

  // Returns a random number, uniform in [0, 1).
  double NextUniform() { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }

  // Returns a random integer, uniform in [0, count). Requires: count > 0.
  uint64_t NextBelow(uint64_t count) { return std::uniform_int_distribution<uint64_t>(0, count - 1)(random_); }

 private:
  std::mt19937_64 random_;
};

}  // namespace longshore::load
