// How many requests a client may send: a token bucket. Pure.
#pragma once

#include <algorithm>
#include <chrono>

#include "common/clock.h"

namespace longshore::kube {

class RateLimit {
 public:
  // After a quiet time `burst` requests may be sent at once.
  RateLimit(double per_second, double burst) : per_second_(per_second), burst_(burst), tokens_(burst) {}

  // Takes the turn of one request, and says how long it has to wait for it.
  Duration Take(MonotonicPoint now) {
    const double passed = std::chrono::duration<double>(std::max(now - at_, Duration(0))).count();
    tokens_ = std::min(burst_, tokens_ + passed * per_second_) - 1;
    at_ = std::max(at_, now);
    const auto in_turn =
        tokens_ >= 0 ? Duration(0)
                     : std::chrono::duration_cast<Duration>(std::chrono::duration<double>(-tokens_ / per_second_));
    return std::max(in_turn, blocked_until_ - now);
  }

  // Takes a turn only where it need not wait for it.
  bool TryTake(MonotonicPoint now) {
    if (Take(now) <= Duration(0)) return true;
    ++tokens_;
    return false;
  }

  // Nothing is sent before then: the server said so.
  void BlockUntil(MonotonicPoint then) { blocked_until_ = std::max(blocked_until_, then); }

 private:
  const double per_second_;
  const double burst_;
  double tokens_;  // Below 0: turns that are taken and still wait.
  MonotonicPoint at_{};
  MonotonicPoint blocked_until_{};
};

}  // namespace longshore::kube
