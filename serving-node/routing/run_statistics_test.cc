#include "serving-node/routing/run_statistics.h"

#include <gmock/gmock.h>

namespace longshore::routing {
namespace {

using std::chrono::milliseconds;

class RunStatisticsTest : public testing::Test {
 protected:
  void Record(int64_t rows, int batch_rows = 0, bool first_of_batch = true) {
    batching::RunOutcome outcome;
    outcome.queue_time = milliseconds(1);
    outcome.run_time = milliseconds(2);
    outcome.batch_rows = batch_rows;
    outcome.first_of_batch = first_of_batch;
    statistics_.Record({"m", 1, rows, milliseconds(4), &outcome, TimePoint(std::chrono::seconds(5))});
  }

  RunStatistics statistics_;
};

TEST_F(RunStatisticsTest, AddsUpTimesAndRows) {
  Record(3);
  Record(3);
  const VersionStatistics seen = statistics_.Of("m", 1);
  EXPECT_EQ(seen.success.count, 2u);
  EXPECT_EQ(seen.success.time, milliseconds(8));
  EXPECT_EQ(seen.queue.time, milliseconds(2));
  EXPECT_EQ(seen.run.time, milliseconds(4));
  EXPECT_EQ(seen.rows, 6u);
  EXPECT_EQ(seen.runs, 2u);
  EXPECT_EQ(seen.last_success_ms, 5000u);
  EXPECT_EQ(seen.by_rows.at(3).count, 2u);
}

TEST_F(RunStatisticsTest, CountsARunOfABatchOnce) {
  Record(1, 3);
  Record(2, 3, false);
  const VersionStatistics seen = statistics_.Of("m", 1);
  EXPECT_EQ(seen.rows, 3u);
  EXPECT_EQ(seen.runs, 1u);
  EXPECT_EQ(seen.run.count, 2u);
  EXPECT_EQ(seen.by_rows.at(3).count, 1u);
}

TEST_F(RunStatisticsTest, CountsFailuresApart) {
  statistics_.Record({"m", 1, 1, milliseconds(7), nullptr, TimePoint(std::chrono::seconds(5))});
  const VersionStatistics seen = statistics_.Of("m", 1);
  EXPECT_EQ(seen.fail.count, 1u);
  EXPECT_EQ(seen.fail.time, milliseconds(7));
  EXPECT_EQ(seen.success.count + seen.runs + seen.last_success_ms, 0u);
}

TEST_F(RunStatisticsTest, LimitsTheSizesOfBatches) {
  for (int64_t rows = 1; rows <= 100; ++rows) Record(rows);
  EXPECT_EQ(statistics_.Of("m", 1).by_rows.size(), RunStatistics::kBatchSizesMax);
  EXPECT_EQ(statistics_.Of("m", 1).runs, 100u);
}

TEST_F(RunStatisticsTest, BeginsAgainAfterAnUnload) {
  Record(1);
  statistics_.Forget("m", 1);
  EXPECT_EQ(statistics_.Of("m", 1).runs, 0u);
}

}  // namespace
}  // namespace longshore::routing
