// Counts what a hostile client does too often. Pure: time is an argument.
#pragma once

#include <algorithm>
#include <chrono>

#include "common/net/http2/options.h"

namespace longshore::http2 {

// Frames that cost the client less than the server. Each one is a strike; strikes are forgiven at a constant rate.
class Strikes {
 public:
  Strikes(double strikes_max, double per_second) : max_(strikes_max), per_second_(per_second) {}

  // Returns false if there were too many.
  bool Add(TimePoint now) {
    if (now > counted_at_) {
      const double seconds = std::chrono::duration<double>(now - counted_at_).count();
      count_ = std::max(0.0, count_ - seconds * per_second_);
      counted_at_ = now;
    }
    return ++count_ <= max_;
  }

 private:
  const double max_;
  const double per_second_;
  double count_ = 0;
  TimePoint counted_at_{};
};

// Pings that a client sends to see whether the server is alive. The rule is gRPC's
// (https://github.com/grpc/proposal/blob/master/A8-client-side-keepalive.md): more than two pings that come too early
// are too many, and an answer in between starts the count again.
class PingLimit {
 public:
  explicit PingLimit(milliseconds interval_min) : interval_min_(interval_min) {}

  // Returns false if there were too many.
  bool Add(TimePoint now) {
    const bool is_early = has_pinged_ && now - pinged_at_ < interval_min_;
    has_pinged_ = true;
    pinged_at_ = now;
    if (!is_early) return true;
    return ++early_ <= kEarlyMax;
  }
  void OnAnswer() {
    early_ = 0;
    has_pinged_ = false;
  }

 private:
  static constexpr int kEarlyMax = 2;
  const milliseconds interval_min_;
  TimePoint pinged_at_{};
  bool has_pinged_ = false;
  int early_ = 0;
};

}  // namespace longshore::http2
