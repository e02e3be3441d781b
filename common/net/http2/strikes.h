// Counts what a hostile client does too often. Pure: time is an argument.
#pragma once

#include <algorithm>
#include <chrono>

#include "common/net/http2/options.h"

namespace longshore::http2 {

// Frames that cost the client less than the server, or after which the server got nothing for its work. Each one is a
// strike. Strikes are forgiven at a constant rate, and one for each answer that was completed.
class Strikes {
 public:
  enum class Verdict {
    kNone,
    kEnd,    // Too many: the client should open no further streams.
    kAbort,  // Twice as many: the connection should be closed.
  };

  Strikes(double strikes_max, double per_second) : max_(strikes_max), per_second_(per_second) {}

  Verdict Add(TimePoint now) {
    if (now > counted_at_) {
      const double seconds = std::chrono::duration<double>(now - counted_at_).count();
      // Time forgives strikes, but gives no credit.
      if (count_ > 0) count_ = std::max(0.0, count_ - seconds * per_second_);
      counted_at_ = now;
    }
    ++count_;
    if (count_ <= max_) return Verdict::kNone;
    return count_ <= 2 * max_ ? Verdict::kEnd : Verdict::kAbort;
  }
  // An answer was completed. The credit of a client is limited, so that it cannot be saved for a long attack.
  void OnAnswer() { count_ = std::max(-kCreditMax * max_, count_ - 1); }

 private:
  static constexpr double kCreditMax = 10;  // Times strikes_max.
  const double max_;
  const double per_second_;
  double count_ = 0;  // Negative: credit.
  TimePoint counted_at_{};
};

// What decides whether a stream that its client has reset is a strike.
struct ResetStream {
  TimePoint began_at;
  TimePoint deadline = TimePoint::max();  // When the call ends, as the server knows it; max(): never.
  bool is_answered = false;               // The head of the answer was sent.
};

// Whether the server got nothing for its work. Clients reset a call at its deadline, by their own clock, or because
// they have waited long; neither of them can be repeated quickly for one stream, and the number of streams is limited.
inline bool IsStrike(const ResetStream& stream, TimePoint now) {
  constexpr auto kYoung = std::chrono::seconds(1);
  constexpr auto kNearMin = milliseconds(10);
  constexpr int kNearPart = 64;  // "Near" is this part of the time that the call was given.
  if (stream.is_answered || now - stream.began_at > kYoung) return false;
  if (stream.deadline == TimePoint::max()) return true;
  const auto near = std::max<TimePoint::duration>(kNearMin, (stream.deadline - stream.began_at) / kNearPart);
  return now < stream.deadline - near;
}

// Pings that a client sends to see whether the server is alive. The rule is gRPC's
// (https://github.com/grpc/proposal/blob/master/A8-client-side-keepalive.md): more than two pings that come too early
// are too many, and a frame of an answer or a window update in between starts the count again, as does a ping in time.
// Clients may ping exactly at the interval, and the network changes the time between two pings, so a tenth is
// tolerated.
class PingLimit {
 public:
  explicit PingLimit(milliseconds interval_min) : interval_min_(interval_min) {}

  // Returns false if there were too many.
  bool Add(TimePoint now) {
    const bool is_early = has_pinged_ && now - pinged_at_ < interval_min_ * 9 / 10;
    has_pinged_ = true;
    pinged_at_ = now;
    early_ = is_early ? early_ + 1 : 0;
    return early_ <= kEarlyMax;
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
