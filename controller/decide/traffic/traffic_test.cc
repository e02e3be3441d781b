#include "controller/decide/traffic/traffic.h"

#include <gtest/gtest.h>

namespace longshore::traffic {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr TimePoint kStart{hours(24 * 365)};

// Counts `requests` and `errors` for each second of `time`.
Counted After(const Counted& from, Duration time, double requests, double errors) {
  const double seconds = std::chrono::duration<double>(time).count();
  return {from.at + time, from.requests + static_cast<int64_t>(requests * seconds),
          from.errors + static_cast<int64_t>(errors * seconds)};
}

TEST(CountFor, GrowsFromAMinuteToAnHour) {
  EXPECT_EQ(CountFor({}), minutes(1));
  EXPECT_EQ(CountFor({.over = minutes(4)}), minutes(4));
  EXPECT_EQ(CountFor({.over = hours(24)}), hours(1));
}

TEST(Record, IsTheMeanOverTheFirstDay) {
  const Counted began{kStart, 1000, 100};
  const auto first = Record({}, began, After(began, minutes(60), 10, 1));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->over, minutes(60));
  EXPECT_EQ(first->at, kStart + minutes(60));
  EXPECT_DOUBLE_EQ(first->requests_per_second, 10);
  EXPECT_DOUBLE_EQ(first->error_rate, 0.1);
  const auto second = Record(*first, began, After(began, minutes(60), 30, 0));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->over, minutes(120));
  EXPECT_DOUBLE_EQ(second->requests_per_second, 20);
  EXPECT_DOUBLE_EQ(second->error_rate, 0.025);
}

TEST(Record, ForgetsTheDayBefore) {
  api::Traffic record{.at = kStart, .over = hours(24), .requests_per_second = 100, .error_rate = 0.5};
  Counted counted{kStart, 0, 0};
  Counted now = counted;
  for (int hour = 0; hour < 72; ++hour) {
    now = After(now, hours(1), 10, 0);
    if (const auto more = Record(record, counted, now)) {
      record = *more;
      counted = now;
    }
  }
  EXPECT_EQ(record.over, hours(24));
  EXPECT_NEAR(record.requests_per_second, 10, 6);
}

TEST(Record, IsNotWrittenAgainWhileItIsStillTrue) {
  const api::Traffic record{.at = kStart, .over = hours(24), .requests_per_second = 100, .error_rate = 0.01};
  const Counted counted{kStart, 0, 0};
  EXPECT_FALSE(Record(record, counted, After(counted, hours(1), 105, 1.05)));
  EXPECT_TRUE(Record(record, counted, After(counted, hours(12), 200, 2)));
  EXPECT_FALSE(Record({}, counted, After(counted, minutes(1), 0, 0))) << "There has been no request.";
}

TEST(Meter, SeesAChangeWithinADayAfterALongSteadyTime) {
  Meter meter;
  api::Traffic record;
  Counted now{kStart, 0, 0};
  const auto count = [&](Duration time, double requests) {
    now = After(now, time, requests, 0);
    const auto next = meter.Count(record, now);
    if (next) meter.Written(now);
    record = next.value_or(record);
  };
  count(Duration(1), 0);
  for (int hour = 0; hour < 30 * 24; ++hour) count(hours(1), 100);
  EXPECT_NEAR(record.requests_per_second, 100, 1);
  for (int hour = 0; hour < 48; ++hour) count(hours(1), 10);
  EXPECT_NEAR(record.requests_per_second, 10, 40);
}

TEST(Meter, BeginsAgainWhenCountsAreForgotten) {
  Meter meter;
  EXPECT_FALSE(meter.Count({}, {kStart, 1000, 10}));
  EXPECT_FALSE(meter.Count({}, {kStart + std::chrono::seconds(30), 5000, 10}));
  EXPECT_FALSE(meter.Count({}, {kStart + std::chrono::seconds(40), 4000, 0})) << "A version was forgotten.";
  EXPECT_EQ(meter.due_in(), minutes(1));
  const auto record = meter.Count({}, {kStart + std::chrono::seconds(100), 4600, 6});
  ASSERT_TRUE(record);
  EXPECT_DOUBLE_EQ(record->requests_per_second, 10);
  EXPECT_DOUBLE_EQ(record->error_rate, 0.01);
}

TEST(Record, HasThreeDigits) {
  const Counted counted{kStart, 0, 0};
  const auto record = Record({}, counted, {kStart + minutes(1), 740, 1});
  ASSERT_TRUE(record);
  EXPECT_DOUBLE_EQ(record->requests_per_second, 12.3);
  EXPECT_DOUBLE_EQ(record->error_rate, 0.00135);
}

}  // namespace
}  // namespace longshore::traffic
