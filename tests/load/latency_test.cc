#include "tests/load/latency.h"

#include <gtest/gtest.h>

#include <cmath>

namespace longshore::load {
namespace {

TEST(LatencyCounts, QuantilesAreWithinABucketOfTheTruth) {
  LatencyCounts counts;
  for (int i = 1; i <= 1000; ++i) counts.Add(std::chrono::microseconds(i * 10));
  EXPECT_NEAR(counts.QuantileMs(0.5), 5.0, 0.5);
  EXPECT_NEAR(counts.QuantileMs(0.99), 9.9, 0.95);
  EXPECT_EQ(LatencyCounts{}.QuantileMs(0.5), 0);
}

TEST(LatencyCounts, KeepTheLongestLatencyExactly) {
  LatencyCounts counts;
  EXPECT_EQ(counts.MaxMs(), 0);
  counts.Add(std::chrono::microseconds(70'123));
  counts.Add(std::chrono::microseconds(10));
  LatencyCounts merged;
  merged.Add(std::chrono::microseconds(20));
  merged.Merge(counts);
  EXPECT_EQ(merged.MaxMs(), 70.123);
}

TEST(LatencyCounts, GiveTheBucketsThatAreNotEmpty) {
  LatencyCounts counts;
  for (const int64_t us : {1024, 1024, 1}) counts.Add(std::chrono::microseconds(us));
  EXPECT_EQ(counts.ToJson(), Json::parse("[[1.0, 1], [1024.0, 2]]"));
}

TEST(LatencyCounts, InterpolateAQuantileWithinItsBucket) {
  LatencyCounts counts;
  for (int i = 0; i < 4; ++i) counts.Add(std::chrono::microseconds(1024));
  const double lower_ms = 1.024 / std::exp2(1.0 / 8);
  EXPECT_DOUBLE_EQ(counts.InterpolatedMs(0.5), (lower_ms + 1.024) / 2);
  EXPECT_DOUBLE_EQ(counts.InterpolatedMs(1), 1.024);
  EXPECT_EQ(LatencyCounts{}.InterpolatedMs(0.5), 0);
}

TEST(LatencyCounts, AreReadAsTheyWereWritten) {
  LatencyCounts counts;
  for (const int64_t us : {1, 2, 3, 1024, 1025, 9'000'000}) counts.Add(std::chrono::microseconds(us));
  const auto read = LatencyCounts::FromJson(counts.ToJson());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->buckets(), counts.buckets());
  EXPECT_EQ(read->count(), 6);
  for (const char* wrong : {"[1]", "[[1]]", "[[1, -1]]", "[[\"a\", 1]]", "7"}) {
    EXPECT_FALSE(LatencyCounts::FromJson(Json::parse(wrong))) << wrong;
  }
}

}  // namespace
}  // namespace longshore::load
