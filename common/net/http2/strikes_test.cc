#include "common/net/http2/strikes.h"

#include <gtest/gtest.h>

namespace longshore::http2 {
namespace {

using std::chrono::seconds;

constexpr TimePoint kStart{std::chrono::hours(1)};

TEST(Strikes, AllowsABurstAndThenTheRate) {
  Strikes strikes(10, 2);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(strikes.Add(kStart));
  EXPECT_FALSE(strikes.Add(kStart));
  EXPECT_TRUE(strikes.Add(kStart + seconds(1)));
  EXPECT_FALSE(strikes.Add(kStart + seconds(1)));
}

TEST(PingLimit, AllowsPingsAtTheInterval) {
  PingLimit pings(seconds(10));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(pings.Add(kStart + i * seconds(10)));
}

TEST(PingLimit, RefusesTheThirdPingThatIsTooEarly) {
  PingLimit pings(seconds(10));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pings.Add(kStart + i * seconds(9)));
  EXPECT_FALSE(pings.Add(kStart + seconds(27)));
}

}  // namespace
}  // namespace longshore::http2
