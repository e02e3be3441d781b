#include "common/base/buckets.h"

#include <gtest/gtest.h>

#include <vector>

namespace longshore {
namespace {

TEST(TimeBuckets, HoldTheTimesBetweenTheirEdges) {
  for (const int64_t us : std::vector<int64_t>{2, 3, 9, 100, 999, 1000, 12345, 1000000, 86400000000}) {
    const int bucket = TimeBucketOf(Duration(us));
    EXPECT_LE(static_cast<double>(us), TimeBucketUpperMicroseconds(bucket)) << us;
    EXPECT_GT(static_cast<double>(us), TimeBucketUpperMicroseconds(bucket - 1)) << us;
  }
}

TEST(TimeBuckets, AreExactAtPowersOfTwo) {
  EXPECT_EQ(TimeBucketOf(Duration(-5)), 0);
  EXPECT_EQ(TimeBucketOf(Duration(1)), 0);
  for (int power = 10; power <= 40; ++power) {
    EXPECT_EQ(TimeBucketOf(Duration(int64_t{1} << power)), 8 * power);
    EXPECT_EQ(TimeBucketOf(Duration((int64_t{1} << power) + 1)), 8 * power + 1);
  }
}

}  // namespace
}  // namespace longshore
