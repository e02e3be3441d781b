#include "tests/sim/recording.h"

#include <gtest/gtest.h>

#include "common/json/json.h"
#include "tests/sim/trials.h"

namespace longshore::sim {
namespace {

Period PeriodOf(int candidate_requests, int candidate_errors) {
  Period period;
  period.windows["a"].candidate.requests = candidate_requests;
  period.windows["a"].candidate.errors = candidate_errors;
  period.windows["b"].stable.requests = 7;
  return period;
}

TEST(Recording, AddsTheSecondsAndTheNodesOfAPoint) {
  Recording recording({.interval_seconds = 2, .run_times = false});
  recording.Add(1, PeriodOf(5, 1));
  recording.Add(2, PeriodOf(3, 0));
  recording.Add(3, PeriodOf(1, 1));
  const Json line = ParseJson(recording.Line(4)).value();
  EXPECT_EQ(line.at("id"), 4);
  ASSERT_EQ(line.at("points").size(), 2U);
  EXPECT_EQ(line.at("points").at(0).dump(),
            R"({"t":2,"candidate_requests":8,"candidate_errors":1,"stable_requests":14,"stable_errors":0})");
  EXPECT_EQ(line.at("points").at(1).at("candidate_errors"), 1);
}

TEST(Recording, CountsEachRunTimeInTheBucketBelowWhoseBoundItIs) {
  Recording recording({.interval_seconds = 1, .run_times = true});
  Period period = PeriodOf(3, 0);
  period.candidate_run_times_us = {1, 9000, 1e9};
  recording.Add(1, period);
  const Json line = ParseJson(recording.Line(0)).value();
  const auto bounds = line.at("run_time_bounds_us").get<std::vector<double>>();
  const auto counts = line.at("points").at(0).at("candidate_run_times").get<std::vector<int>>();
  ASSERT_EQ(counts.size(), bounds.size());
  EXPECT_EQ(counts.front(), 1);
  EXPECT_EQ(counts.back(), 1);
  const auto bucket = std::ranges::find_if(bounds, [](double bound) { return bound >= 9000; }) - bounds.begin();
  EXPECT_EQ(counts[static_cast<size_t>(bucket)], 1);
}

TEST(Recording, WritesOnlyTheBucketsThatAreUsedAndOneBelow) {
  Recording recording({.interval_seconds = 1, .run_times = true});
  Period period = PeriodOf(2, 0);
  period.candidate_run_times_us = {9000, 9100};
  period.stable_run_times_us = {10000};
  recording.Add(1, period);
  const Json line = ParseJson(recording.Line(0)).value();
  const auto bounds = line.at("run_time_bounds_us").get<std::vector<double>>();
  const Json& point = line.at("points").at(0);
  EXPECT_EQ(point.at("candidate_run_times").dump(), "[0,2,0,0]");
  EXPECT_EQ(point.at("stable_run_times").dump(), "[0,0,0,1]");
  ASSERT_EQ(bounds.size(), 4U);
  EXPECT_LT(bounds[0], 9000) << "the buckets that are left out begin at 0, and would change a quantile";
  EXPECT_GE(bounds[3], 10000);
}

TEST(Recording, WritesWhatIsKnownOfThePast) {
  Recording recording({.interval_seconds = 1, .run_times = false, .past = {.error_share = 0.25, .p99_us = 1500}});
  recording.Add(1, PeriodOf(1, 0));
  EXPECT_EQ(ParseJson(recording.Line(0)).value().at("stable_past").dump(), R"({"error_share":0.25,"p99_us":1500.0})");
}

// The peers must see the requests that our rules judge.
TEST(RunWatch, RecordsAllRequestsAlsoAfterTheRollback) {
  World world;
  world.candidate_errors = 0.2;
  Ladder ladder = LadderFor(world);
  ladder.baseline_requests = 0;
  const Watch watch{0.25, 120};
  Recording judged({.interval_seconds = 10, .run_times = true});
  Recording recorded({.interval_seconds = 10, .run_times = true});
  const Course course = RunWatch(world, ladder, watch, 5, &judged);
  Service service(world, {}, 5);
  for (int second = 1; second <= watch.seconds_max; ++second) {
    Period period;
    service.AddSecond(watch.candidate_share, true, period);
    recorded.Add(second, period);
  }
  EXPECT_EQ(course.end, End::kRolledBack);
  EXPECT_EQ(judged.Line(0), recorded.Line(0));
  EXPECT_EQ(RunWatch(world, ladder, watch, 5).candidate_requests, course.candidate_requests);
}

}  // namespace
}  // namespace longshore::sim
