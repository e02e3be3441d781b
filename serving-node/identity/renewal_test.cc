#include "serving-node/identity/renewal.h"

#include <gtest/gtest.h>

namespace longshore::identity {
namespace {

using std::chrono::hours;

const TimePoint kStart{};

Renewal For(hours lifetime, const std::string& authorities_trusted = "CA") {
  return {.validity = {kStart, kStart + lifetime},
          .authorities = "CA",
          .authorities_trusted = authorities_trusted,
          .authorities_at_issue = "the CA before"};
}

TEST(Renewal, IsDueDaily) {
  EXPECT_FALSE(IsDue(For(hours(24 * 365)), kStart + hours(23)));
  EXPECT_TRUE(IsDue(For(hours(24 * 365)), kStart + hours(24)));
}

TEST(Renewal, IsDueAfterAThirdOfAShortValidity) {
  EXPECT_FALSE(IsDue(For(hours(6)), kStart + hours(1)));
  EXPECT_TRUE(IsDue(For(hours(6)), kStart + hours(2)));
}

TEST(Renewal, IsDueWithANewAuthority) {
  EXPECT_TRUE(IsDue(For(hours(24), "another CA"), kStart));
  EXPECT_FALSE(IsDue(For(hours(24), ""), kStart)) << "the authorities cannot be read";
  EXPECT_FALSE(IsDue(For(hours(24), "the CA before"), kStart))
      << "the new authority will reach the file of this node later";
}

}  // namespace
}  // namespace longshore::identity
