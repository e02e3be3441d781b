#include "common/net/http/open_connection.h"

#include <gtest/gtest.h>

namespace longshore::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr RequestRate::TimePoint kStart{std::chrono::hours(1)};

// Sends requests from `from` to `to`, while the server calls Forget ten times per second.
void Serve(RequestRate& rate, int requests_per_tick, seconds from, seconds to) {
  for (auto now = kStart + from; now < kStart + to; now += milliseconds(100)) {
    for (int i = 0; i < requests_per_tick; ++i) rate.Add();
    rate.Forget(now);
  }
}

TEST(RequestRate, CountsFromTheBeginningOfAYoungConnection) {
  RequestRate rate(kStart);
  Serve(rate, 5, seconds(0), seconds(1));
  EXPECT_NEAR(rate.PerSecond(kStart + seconds(1)), 50, 1);
  RequestRate one(kStart);
  one.Add();
  EXPECT_EQ(one.PerSecond(kStart), 10);
}

TEST(RequestRate, AConnectionThatWasBusyIsIdleFourSecondsLater) {
  RequestRate rate(kStart);
  Serve(rate, 100, seconds(0), seconds(100));
  EXPECT_NEAR(rate.PerSecond(kStart + seconds(100)), 1000, 60);
  Serve(rate, 0, seconds(100), seconds(105));
  EXPECT_EQ(rate.PerSecond(kStart + seconds(105)), 0);
}

TEST(RequestRate, AConnectionThatWasIdleIsBusyFourSecondsLater) {
  RequestRate rate(kStart);
  Serve(rate, 0, seconds(0), seconds(100));
  Serve(rate, 100, seconds(100), seconds(105));
  EXPECT_NEAR(rate.PerSecond(kStart + seconds(105)), 1000, 60);
}

}  // namespace
}  // namespace longshore::http
