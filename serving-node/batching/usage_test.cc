#include "serving-node/batching/usage.h"

#include <gtest/gtest.h>

namespace longshore::batching {
namespace {

using std::chrono::seconds;

const TimePoint kStart{std::chrono::hours(1)};

Batch Requests(std::vector<TimePoint> submitted) {
  Batch batch;
  for (const TimePoint at : submitted) {
    Task task;
    task.submitted = at;
    batch.push_back(std::move(task));
  }
  return batch;
}

Load LoadOf(Usage& usage, TimePoint now) {
  Usage total;
  total.Add(usage, now);
  Load load;
  total.WriteTo(&load);
  return load;
}

TEST(Usage, CountsTheTimeOfCurrentAndFormerRuns) {
  Usage usage;
  EXPECT_EQ(LoadOf(usage, kStart).busy_seconds, 0);
  usage.Began(Requests({kStart}), kStart + seconds(10));
  usage.Began(Requests({kStart}), kStart + seconds(12));
  EXPECT_EQ(LoadOf(usage, kStart + seconds(13)).busy_seconds, 3 + 1);
  usage.Ended(kStart + seconds(14));
  EXPECT_EQ(LoadOf(usage, kStart + seconds(20)).busy_seconds, 2 * 2 + 2 + 6);
  usage.Ended(kStart + seconds(20));
  EXPECT_EQ(LoadOf(usage, kStart + seconds(30)).busy_seconds, 2 * 2 + 2 + 6);
}

TEST(Usage, CountsRequestsAndTheirWaitingTimes) {
  Usage usage;
  usage.Began(Requests({kStart, kStart + seconds(1)}), kStart + seconds(3));
  usage.Refused();
  const Load load = LoadOf(usage, kStart + seconds(3));
  EXPECT_EQ(load.started, 2);
  EXPECT_EQ(load.refused, 1);
  EXPECT_EQ(load.queue_seconds, 3 + 2);
}

TEST(Usage, AddsTheCountersOfShares) {
  Usage one, two, sum;
  one.Began(Requests({kStart}), kStart + seconds(1));
  two.Began(Requests({kStart, kStart}), kStart + seconds(2));
  two.Refused();
  for (Usage* share : {&one, &two}) sum.Add(*share, kStart + seconds(3));
  const Load load = LoadOf(sum, kStart + seconds(100));
  EXPECT_EQ(load.started, 3);
  EXPECT_EQ(load.refused, 1);
  EXPECT_EQ(load.queue_seconds, 1 + 2 + 2);
  EXPECT_EQ(load.busy_seconds, 2 + 1) << "the sum itself has no current runs";
}

TEST(Usage, NeverDecreasesIfTimesAreOutOfOrder) {
  Usage usage;
  usage.Began(Requests({kStart + seconds(5)}), kStart + seconds(4));
  EXPECT_EQ(LoadOf(usage, kStart + seconds(8)).queue_seconds, 0);
  EXPECT_EQ(LoadOf(usage, kStart + seconds(7)).busy_seconds, 4);
  usage.Ended(kStart + seconds(6));
  EXPECT_EQ(LoadOf(usage, kStart + seconds(9)).busy_seconds, 4);
}

}  // namespace
}  // namespace longshore::batching
