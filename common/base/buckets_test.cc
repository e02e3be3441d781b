#include "common/base/buckets.h"

#include <gtest/gtest.h>

#include <cmath>
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

TEST(RatioBuckets, FollowTheWireContract) {
  EXPECT_EQ(RatioBucketOf(std::log2(1)), 64);
  EXPECT_EQ(RatioBucketOf(std::log2(1.001)), 65);
  EXPECT_EQ(RatioBucketOf(std::log2(0.999)), 64);
  EXPECT_EQ(RatioBucketOf(std::log2(2)), 80);
  EXPECT_EQ(RatioBucketOf(std::log2(0.5)), 48);
  EXPECT_EQ(RatioBucketOf(std::log2(16)), 128);
  EXPECT_EQ(RatioBucketOf(std::log2(1e9)), 128);
  EXPECT_EQ(RatioBucketOf(std::log2(1e-9)), 0);
}

}  // namespace
}  // namespace longshore
