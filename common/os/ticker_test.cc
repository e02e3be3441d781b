#include "common/os/ticker.h"

#include <gtest/gtest.h>

#include <atomic>

namespace longshore {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Ticker, CallsRepeatedlyUntilItIsDestroyed) {
  std::atomic<int> calls = 0;
  {
    const Ticker ticker(milliseconds(1), [&] {
      ++calls;
      calls.notify_all();
    });
    for (int seen = calls; seen < 3; seen = calls) calls.wait(seen);
  }
  const int at_the_end = calls;
  EXPECT_GE(at_the_end, 3);
  EXPECT_EQ(calls, at_the_end);
}

TEST(Ticker, WaitsForTheFirstIntervalUnlessItIsToCallNow) {
  std::atomic<int> calls = 0;
  {
    const Ticker later(hours(1), [&] { ++calls; });
  }
  EXPECT_EQ(calls, 0);
  const Ticker now(
      hours(1),
      [&] {
        ++calls;
        calls.notify_all();
      },
      Ticker::First::kNow);
  calls.wait(0);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace longshore
