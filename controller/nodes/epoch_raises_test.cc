#include "controller/nodes/epoch_raises.h"

#include <gtest/gtest.h>

namespace longshore::nodes {
namespace {

using std::chrono::seconds;

TEST(EpochRaises, SeveralNodesMayRaiseTheEpochInOneTerm) {
  EpochRaises raises(seconds(300));
  EXPECT_TRUE(raises.Allow(5, MonotonicPoint(seconds(0))));
  EXPECT_TRUE(raises.Allow(5, MonotonicPoint(seconds(1))));
}

TEST(EpochRaises, TheNextTermLastsAtLeastTheInterval) {
  EpochRaises raises(seconds(300));
  ASSERT_TRUE(raises.Allow(5, MonotonicPoint(seconds(0))));
  const Status rejected = raises.Allow(8, MonotonicPoint(seconds(100)));
  ASSERT_FALSE(rejected);
  EXPECT_EQ(rejected.error().code, Code::kResourceExhausted);
  EXPECT_NE(rejected.error().message.find("in 200 s"), std::string::npos) << rejected.error().message;
  EXPECT_TRUE(raises.Allow(8, MonotonicPoint(seconds(300))));
}

TEST(EpochRaises, ANodeThatAsksEverySecondForAnHourEndsTwelveTerms) {
  EpochRaises raises(seconds(300));
  int64_t epoch = 1;
  for (int second = 0; second < 3600; ++second) epoch += raises.Allow(epoch, MonotonicPoint(seconds(second))) ? 1 : 0;
  EXPECT_EQ(epoch, 13);
}

}  // namespace
}  // namespace longshore::nodes
