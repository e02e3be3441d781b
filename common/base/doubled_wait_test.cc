#include "common/base/doubled_wait.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

namespace longshore {
namespace {

using std::chrono::milliseconds;

TEST(DoubledWait, DoublesUpToTheLongest) {
  EXPECT_EQ(DoubledWait(milliseconds(200), milliseconds(1000), 0), milliseconds(200));
  EXPECT_EQ(DoubledWait(milliseconds(200), milliseconds(1000), 2), milliseconds(800));
  EXPECT_EQ(DoubledWait(milliseconds(200), milliseconds(1000), 3), milliseconds(1000));
}

TEST(DoubledWait, DoesNotOverflowAfterManyFailures) {
  EXPECT_EQ(DoubledWait(milliseconds(1), milliseconds(1000), std::numeric_limits<int>::max()), milliseconds(1000));
}

TEST(DoubledWait, NeverExceedsTheLongest) {
  EXPECT_EQ(DoubledWait(milliseconds(5), milliseconds(3), 0), milliseconds(3));
}

}  // namespace
}  // namespace longshore
