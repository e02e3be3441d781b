#include "common/net/http2/strikes.h"

#include <gtest/gtest.h>

namespace longshore::http2 {
namespace {

using std::chrono::seconds;

constexpr TimePoint kStart{std::chrono::hours(1)};

using Verdict = Strikes::Verdict;

TEST(Strikes, AllowsABurstAndThenTheRate) {
  Strikes strikes(10, 2);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(strikes.Add(kStart), Verdict::kNone);
  EXPECT_EQ(strikes.Add(kStart), Verdict::kEnd);
  EXPECT_EQ(strikes.Add(kStart + seconds(1)), Verdict::kNone);
  EXPECT_EQ(strikes.Add(kStart + seconds(1)), Verdict::kEnd);
}

TEST(Strikes, AbortAtTwiceTheLimit) {
  Strikes strikes(10, 2);
  for (int i = 0; i < 20; ++i) EXPECT_NE(strikes.Add(kStart), Verdict::kAbort);
  EXPECT_EQ(strikes.Add(kStart), Verdict::kAbort);
}

TEST(Strikes, AnswersGiveALimitedCredit) {
  Strikes strikes(10, 2);
  for (int i = 0; i < 1000; ++i) strikes.OnAnswer();
  for (int i = 0; i < 110; ++i) EXPECT_EQ(strikes.Add(kStart), Verdict::kNone);
  EXPECT_EQ(strikes.Add(kStart), Verdict::kEnd);
}

TEST(ResetStream, IsAStrikeIfItIsYoungAndUnanswered) {
  EXPECT_TRUE(IsStrike({.began_at = kStart}, kStart));
  EXPECT_TRUE(IsStrike({.began_at = kStart}, kStart + seconds(1)));
  EXPECT_FALSE(IsStrike({.began_at = kStart}, kStart + milliseconds(1001)));
  EXPECT_FALSE(IsStrike({.began_at = kStart, .is_answered = true}, kStart));
}

TEST(ResetStream, IsNoStrikeNearItsDeadline) {
  const ResetStream brief{.began_at = kStart, .deadline = kStart + milliseconds(100)};
  EXPECT_TRUE(IsStrike(brief, kStart + milliseconds(89)));
  EXPECT_FALSE(IsStrike(brief, kStart + milliseconds(90)));
  EXPECT_FALSE(IsStrike(brief, kStart + milliseconds(200)));
  const ResetStream longer{.began_at = kStart, .deadline = kStart + milliseconds(960)};
  EXPECT_TRUE(IsStrike(longer, kStart + milliseconds(944)));
  EXPECT_FALSE(IsStrike(longer, kStart + milliseconds(945)));
}

TEST(PingLimit, AllowsPingsAtTheInterval) {
  PingLimit pings(seconds(10));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(pings.Add(kStart + i * seconds(10)));
}

TEST(PingLimit, ToleratesATenth) {
  PingLimit pings(seconds(10));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(pings.Add(kStart + i * seconds(9)));
}

TEST(PingLimit, RefusesTheThirdPingThatIsTooEarly) {
  PingLimit pings(seconds(10));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pings.Add(kStart + i * seconds(8)));
  EXPECT_FALSE(pings.Add(kStart + seconds(24)));
}

TEST(PingLimit, APingInTimeStartsTheCountAgain) {
  PingLimit pings(seconds(10));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pings.Add(kStart + i * seconds(8)));
  EXPECT_TRUE(pings.Add(kStart + seconds(30)));
  EXPECT_TRUE(pings.Add(kStart + seconds(31)));
}

}  // namespace
}  // namespace longshore::http2
