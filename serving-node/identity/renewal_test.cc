#include "serving-node/identity/renewal.h"

#include <gtest/gtest.h>

namespace longshore::identity {
namespace {

using std::chrono::hours;

const TimePoint kStart{};

Renewal For(hours lifetime, const std::string& authorities_now = "CA") {
  return {.validity = {kStart, kStart + lifetime},
          .authorities = "CA",
          .authorities_now = authorities_now,
          .authorities_then = "the CA before"};
}

TEST(Renewal, ComesDaily) {
  EXPECT_FALSE(IsDue(For(hours(24 * 365)), kStart + hours(23)));
  EXPECT_TRUE(IsDue(For(hours(24 * 365)), kStart + hours(24)));
}

TEST(Renewal, ComesAfterAThirdOfAShortLife) {
  EXPECT_FALSE(IsDue(For(hours(6)), kStart + hours(1)));
  EXPECT_TRUE(IsDue(For(hours(6)), kStart + hours(2)));
}

TEST(Renewal, ComesWithAnotherAuthority) {
  EXPECT_TRUE(IsDue(For(hours(24), "another CA"), kStart));
  EXPECT_FALSE(IsDue(For(hours(24), ""), kStart)) << "one that cannot be read is none";
  EXPECT_FALSE(IsDue(For(hours(24), "the CA before"), kStart)) << "this node will hear of the new one";
}

}  // namespace
}  // namespace longshore::identity
