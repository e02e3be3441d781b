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

// The peers must see the requests that our rules judge.
TEST(RunWatch, RecordsTheSameRequestsAsWithoutAJudge) {
  World world;
  world.candidate_errors = 0.2;
  const Ladder ladder = LadderFor(world);
  const Watch watch{0.25, 120};
  Recording judged({.interval_seconds = 10, .run_times = true});
  Recording recorded({.interval_seconds = 10, .run_times = true});
  const Course course = RunWatch(world, ladder, watch, 5, &judged);
  RecordWatch(world, ladder, watch, 5, recorded);
  EXPECT_EQ(course.end, End::kRolledBack);
  EXPECT_EQ(judged.Line(0), recorded.Line(0));
  EXPECT_EQ(RunWatch(world, ladder, watch, 5).candidate_requests, course.candidate_requests);
}

}  // namespace
}  // namespace longshore::sim
