#include "common/net/http/retry.h"

#include <gtest/gtest.h>

#include <set>

namespace longshore::http {
namespace {

TEST(Retry, TimesAreRandomFromHalfASecondToOneAndAHalf) {
  std::set<int> drawn;
  for (int i = 0; i < 2000; ++i) drawn.insert(RetryAfterMs());
  EXPECT_GE(*drawn.begin(), 500);
  EXPECT_LE(*drawn.rbegin(), 1500);
  EXPECT_GT(drawn.size(), 500U);
}

TEST(Retry, TheHeaderHasWholeSecondsRoundedUp) {
  std::set<std::string> drawn;
  for (int i = 0; i < 2000; ++i) drawn.insert(RetryAfterSeconds());
  EXPECT_EQ(drawn, (std::set<std::string>{"1", "2"}));
}

}  // namespace
}  // namespace longshore::http
