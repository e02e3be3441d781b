// Limits the rate of a client's requests: a token bucket. Pure.
#pragma once

#include <algorithm>
#include <chrono>

#include "common/base/clock.h"

namespace longshore::kube {

class RateLimit {
 public:
  // After an idle time, `burst` requests may be sent without waiting.
  RateLimit(double per_second, double burst) : per_second_(per_second), burst_(burst), tokens_(burst) {}

  // Takes the token of one request and returns how long the request must wait before it may be sent.
  Duration Take(MonotonicPoint now) {
    const double passed = std::chrono::duration<double>(std::max(now - at_, Duration(0))).count();
    tokens_ = std::min(burst_, tokens_ + passed * per_second_) - 1;
    at_ = std::max(at_, now);
    const auto wait = tokens_ >= 0
                          ? Duration(0)
                          : std::chrono::duration_cast<Duration>(std::chrono::duration<double>(-tokens_ / per_second_));
    return std::max(wait, blocked_until_ - now);
  }

  // Takes a token only if the request need not wait.
  bool TryTake(MonotonicPoint now) {
    if (Take(now) <= Duration(0)) return true;
    ++tokens_;
    return false;
  }

  // Makes all requests wait until `then`, because the server asked for it.
  void BlockUntil(MonotonicPoint then) { blocked_until_ = std::max(blocked_until_, then); }

 private:
  const double per_second_;
  const double burst_;
  double tokens_;  // If negative, -tokens_ requests have taken a token and still wait.
  MonotonicPoint at_{};
  MonotonicPoint blocked_until_{};
};

}  // namespace longshore::kube
