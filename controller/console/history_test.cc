#include "controller/console/history.h"

#include <gtest/gtest.h>

namespace longshore::console {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TimePoint At(Duration since_start) { return TimePoint(minutes(1000)) + since_start; }
TrafficPoint Traffic(Duration since_start) { return {.at = At(since_start)}; }

TEST(History, KeepsThePointsOfTheLastHour) {
  History history;
  for (int minute = 0; minute <= 70; ++minute) history.Add("a/m", 1, Traffic(minutes(minute)));
  history.Expire(At(minutes(70)));
  const auto points = history.Of("a/m").versions.at(1);
  EXPECT_EQ(points.size(), 61u);
  EXPECT_EQ(points.front().at, At(minutes(10)));
}

TEST(History, LimitsThePointsOfASeries) {
  History history({.points_max = 3});
  for (int second = 0; second < 10; ++second) history.Add("a/m", 1, Traffic(seconds(second)));
  const auto points = history.Of("a/m").versions.at(1);
  EXPECT_EQ(points.size(), 3u);
  EXPECT_EQ(points.front().at, At(seconds(7))) << "the oldest points are dropped first";
}

TEST(History, LimitsTheNumberOfSeries) {
  History history({.series_max = 2});
  history.Add("a/m", 1, Traffic(seconds(0)));
  history.Add("a/m", 1, EvidencePoint{.at = At(seconds(0))});
  history.Add("a/n", 1, Traffic(seconds(0)));
  EXPECT_EQ(history.series(), 2u);
  history.Add("a/m", 1, Traffic(seconds(5)));
  EXPECT_EQ(history.Of("a/m").versions.at(1).size(), 2u) << "a known series still gets points";
  history.Expire(At(minutes(61)));
  EXPECT_EQ(history.series(), 0u);
  history.Add("a/n", 1, Traffic(minutes(61)));
  EXPECT_EQ(history.Of("a/n").versions.size(), 1u) << "an expired series makes room";
}

TEST(History, TheEndOfARolloutIsAddedOnceAndAfterAllOtherPoints) {
  History history;
  history.Add("a/m", 1, EvidencePoint{.at = At(seconds(10))});
  history.AddEnd("a/m", 1, EvidencePoint{.at = At(seconds(9)), .error_low = 1});
  history.AddEnd("a/m", 1, EvidencePoint{.at = At(seconds(9)), .error_low = 1});
  ASSERT_EQ(history.Of("a/m").evidence.size(), 2u);
  EXPECT_EQ(history.Of("a/m").evidence.back().at, At(seconds(10)));
  EXPECT_EQ(history.Of("a/m").evidence.back().error_low, 1);
  history.Add("a/m", 2, EvidencePoint{.at = At(seconds(15))});
  history.AddEnd("a/m", 2, EvidencePoint{.at = At(seconds(16))});
  EXPECT_EQ(history.Of("a/m").evidence.size(), 2u) << "the next rollout has its own end";
}

TEST(History, EvidenceIsOfOneRollout) {
  History history;
  history.Add("a/m", 1, EvidencePoint{.at = At(seconds(0))});
  history.Add("a/m", 2, EvidencePoint{.at = At(seconds(5))});
  EXPECT_EQ(history.Of("a/m").evidence.size(), 1u);
  EXPECT_EQ(history.Of("a/m").evidence.front().at, At(seconds(5)));
  EXPECT_EQ(history.series(), 1u);
}

NodePair Pair(double difference) {
  NodePair pair{.node = "a"};
  pair.pair.set_relative_difference(difference);
  return pair;
}

TEST(History, WorstPairsAreOfOneRolloutAndOutliveTheReportsOfThem) {
  History history;
  history.Add("a/m", "uid/2/1", {Pair(0.5)});
  EXPECT_TRUE(history.Of("a/m").worst_pairs.empty()) << "without a series, nothing limits them";
  history.Add("a/m", 1, Traffic(seconds(0)));
  history.Add("a/m", "uid/2/1", {Pair(0.5)});
  history.Add("a/m", "uid/2/1", {Pair(0.25)});
  history.Add("a/m", "uid/2/1", {});
  EXPECT_EQ(history.Of("a/m").worst_pairs.size(), 2u);
  history.Add("a/m", "uid/3/1", {});
  EXPECT_TRUE(history.Of("a/m").worst_pairs.empty());
}

TEST(History, AnUnknownModelHasNoPoints) { EXPECT_TRUE(History().Of("a/m").versions.empty()); }

}  // namespace
}  // namespace longshore::console
