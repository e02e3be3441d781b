#include "controller/api/units.h"

#include <gtest/gtest.h>

namespace longshore::api {
namespace {

TEST(ParseTime, ReadsEveryFormOfTheApiServer) {
  const TimePoint second = FromUnixMillis(1'700'000'000'000);
  EXPECT_EQ(ParseTime("2023-11-14T22:13:20Z").value(), second) << "metav1.Time";
  EXPECT_EQ(ParseTime("2023-11-14T22:13:20.123Z").value(), second + std::chrono::milliseconds(123))
      << "the format that FormatTime writes";
  EXPECT_EQ(ParseTime("2023-11-14T22:13:20.000045Z").value(), second + Duration(45)) << "metav1.MicroTime";
  EXPECT_EQ(ParseTime("2023-11-14T22:13:20.000045999Z").value(), second + Duration(45)) << "nanoseconds are cut";
  EXPECT_EQ(ParseTime("2023-11-15T00:13:20+02:00").value(), second);
  EXPECT_EQ(ParseTime("2023-11-14T16:43:20.5-05:30").value(), second + std::chrono::milliseconds(500));
  EXPECT_EQ(ParseTime("").value(), TimePoint{});
}

TEST(ParseTime, RefusesTextsThatAreNotTimes) {
  for (const char* text :
       {"yesterday", "2023-11-14", "2023-11-14T22:13:20", "2023-11-14T22:13:20.Z", "2023-11-14T22:13Z",
        "2023-11-14T22:13:20Zulu", "2023-11-14T22:13:20+2:00", "2023-11-14T22:13:20.1234567890Z"}) {
    EXPECT_FALSE(ParseTime(text)) << text;
  }
}

TEST(RoundedTo, KeepsTheDigits) {
  EXPECT_DOUBLE_EQ(RoundedTo(2, 13712), 14000);
  EXPECT_DOUBLE_EQ(RoundedTo(3, 0.0013456), 0.00135);
  EXPECT_DOUBLE_EQ(RoundedTo(3, 7), 7);
}

TEST(RoughDuration, IsInOneUnit) {
  EXPECT_EQ(RoughDuration(Duration(0)), "1 s");
  EXPECT_EQ(RoughDuration(std::chrono::seconds(89)), "89 s");
  EXPECT_EQ(RoughDuration(std::chrono::seconds(90)), "2 min");
  EXPECT_EQ(RoughDuration(std::chrono::minutes(90)), "2 h");
  EXPECT_EQ(RoughDuration(std::chrono::hours(24)), "24 h");
  EXPECT_EQ(RoughDuration(std::chrono::hours(72)), "3 days");
}

TEST(BytesOf, ReadsWhatKubernetesWrites) {
  EXPECT_EQ(BytesOf("1000"), 1000);
  EXPECT_EQ(BytesOf("20Gi"), int64_t{20} << 30);
  EXPECT_EQ(BytesOf("1.5Ki"), 1536);
  EXPECT_EQ(BytesOf("2k"), 2000);
  EXPECT_EQ(BytesOf("1500m"), 1);
  EXPECT_EQ(BytesOf("999999Ei"), int64_t{1} << 62);
}

}  // namespace
}  // namespace longshore::api
