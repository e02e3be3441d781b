#include "serving-node/routing/run_meter.h"

#include <gmock/gmock.h>

namespace longshore::routing {
namespace {

using std::chrono::microseconds;
using testing::HasSubstr;
using testing::Not;

batching::RunOutcome Times(int queued, int ran) {
  batching::RunOutcome outcome;
  outcome.queue_time = microseconds(queued);
  outcome.run_time = microseconds(ran);
  return outcome;
}

batching::RunOutcome Batch(int rows, int padded_rows) {
  batching::RunOutcome outcome;
  outcome.batch_rows = rows;
  outcome.padded_rows = padded_rows;
  return outcome;
}

class RunMeterTest : public testing::Test {
 protected:
  void Record(int64_t version, const batching::RunOutcome& outcome, Api api = Api::kPredict) {
    meter_.Record({"digits", version, "serving_default", api}, outcome);
  }

  metrics::Registry registry_;
  RunMeter meter_{registry_};
};

TEST_F(RunMeterTest, ExportsOneRunUnderBothNames) {
  Record(3, Times(150, 250), Api::kClassify);
  const std::string text = registry_.Text();
  const std::string ours = "{model=\"digits\",signature=\"serving_default\",version=\"3\"";
  EXPECT_THAT(text, HasSubstr("longshore_queue_seconds_sum" + ours + "} 0.00015\n"));
  EXPECT_THAT(text, HasSubstr("longshore_run_seconds_bucket" + ours + ",le=\"0.0002\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("longshore_run_seconds_bucket" + ours + ",le=\"0.0003\"} 1\n"));
  const std::string theirs = "{API=\"Classify\",model_name=\"digits\",runtime=\"TF1\"";
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:runtime_latency_sum" + theirs + "} 250\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:runtime_latency_bucket" + theirs + ",le=\"188.957\"} 0\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:runtime_latency_bucket" + theirs + ",le=\"340.122\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:core:graph_runs 1\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:core:graph_run_time_usecs 250\n"));
  EXPECT_THAT(text, Not(HasSubstr("batching_session")));
}

TEST_F(RunMeterTest, CountsOneRunForAllRequestsOfABatch) {
  for (const bool first : {true, false, false}) {
    batching::RunOutcome outcome = Batch(3, 4);
    outcome.queue_time = microseconds(400);
    outcome.fill_time = microseconds(300);
    outcome.run_time = microseconds(50);
    outcome.first_of_batch = first;
    Record(3, outcome);
  }
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr(":tensorflow:core:graph_runs 1\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:core:graph_run_time_usecs 50\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:batching_session:wrapped_run_count 1\n"));
  EXPECT_THAT(text, HasSubstr("batching_session:queuing_latency_count{thread_pool_name=\"batch_threads\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("batching_session:padding_size_sum{execution_batch_size=\"4\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("batching_session:input_batch_size_sum 3\n"));
  EXPECT_THAT(text, HasSubstr("batching_session:processed_batch_size_sum 4\n"));
  EXPECT_THAT(text, HasSubstr("longshore_batch_fill_seconds_sum{model=\"digits\",signature=\"serving_default\","
                              "version=\"3\"} 0.0009\n"));
}

TEST_F(RunMeterTest, CountsBatchSizesAboveTheLimitTogether) {
  for (int rows = 1; rows <= 100; ++rows) Record(3, Batch(rows, rows));
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("padding_size_count{execution_batch_size=\"other\"} 36\n"));
  EXPECT_THAT(text, HasSubstr("batching_session:wrapped_run_count 100\n"));
}

TEST_F(RunMeterTest, CountsUnloadedVersionsForTheirModel) {
  for (int version = 1; version <= 5000; ++version) {
    Record(version, Times(0, 10));
    meter_.ForgetVersion("digits", version);
  }
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("longshore_run_seconds_count{model=\"digits\",signature=\"\",version=\"\"} 5000\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:core:graph_runs 5000\n"));
  EXPECT_THAT(text, Not(HasSubstr("version=\"4\"")));
}

TEST_F(RunMeterTest, CountsRemovedModelsAsOther) {
  Record(3, Times(0, 10));
  meter_.ForgetVersion("digits", 3);
  meter_.ForgetModel("digits");
  const std::string text = registry_.Text();
  EXPECT_THAT(text, Not(HasSubstr("digits")));
  EXPECT_THAT(text, HasSubstr("longshore_run_seconds_count{model=\"other\",signature=\"other\",version=\"\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:core:graph_runs 1\n"));
}

}  // namespace
}  // namespace longshore::routing
