#include "serving-node/observe/profiling/recorder.h"

#include <gmock/gmock.h>

namespace longshore::profiling {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class RecorderTest : public testing::Test {
 protected:
  bool RunOne(batching::RunWatch& watch, size_t nodes = 1) {
    const auto run = watch.Begin();
    if (!run) return false;
    for (size_t i = 0; i < nodes; ++i) run->profile.Note({.node = "a", .op = "Relu", .how = "loops"});
    watch.Ended(run);
    return true;
  }

  FakeClock clock_;
  FakeMonotonicClock timer_;
  Recorder recorder_{clock_, timer_};
  const std::shared_ptr<batching::RunWatch> digits_ = recorder_.WatchOf("digits", 2);
  const std::shared_ptr<batching::RunWatch> words_ = recorder_.WatchOf("words", 1);
};

TEST_F(RecorderTest, RecordsNothingBeforeItIsStarted) {
  EXPECT_EQ(digits_->Begin(), nullptr);
  EXPECT_FALSE(recorder_.recording());
}

TEST_F(RecorderTest, EndsAfterTheRequestedNumberOfRuns) {
  ASSERT_TRUE(recorder_.Start({.model = "", .runs = 2}));
  EXPECT_TRUE(RunOne(*digits_));
  EXPECT_FALSE(recorder_.recording()->done);
  EXPECT_TRUE(RunOne(*words_));
  EXPECT_FALSE(RunOne(*digits_));
  const Recording recording = *recorder_.recording();
  EXPECT_TRUE(recording.done);
  ASSERT_EQ(recording.runs.size(), 2U);
  EXPECT_EQ(recording.runs[0]->model, "digits");
  EXPECT_EQ(recording.runs[0]->version, 2);
  EXPECT_EQ(recording.runs[0]->run.profile.nodes.size(), 1U);
}

TEST_F(RecorderTest, IsNotDoneWhileItsLastRunIsInProgress) {
  ASSERT_TRUE(recorder_.Start({.model = "", .runs = 1}));
  const auto run = digits_->Begin();
  EXPECT_EQ(digits_->Begin(), nullptr);
  EXPECT_FALSE(recorder_.recording()->done);
  digits_->Ended(run);
  EXPECT_TRUE(recorder_.recording()->done);
}

TEST_F(RecorderTest, IsNotDoneAfterItsTimeWhileRunsAreInProgress) {
  ASSERT_TRUE(recorder_.Start({.model = "", .runs = 2, .time = seconds(5)}));
  const auto run = digits_->Begin();
  timer_.Advance(seconds(5));
  EXPECT_FALSE(recorder_.recording()->done);
  EXPECT_FALSE(RunOne(*digits_)) << "no further runs are recorded";
  digits_->Ended(run);
  EXPECT_TRUE(recorder_.recording()->done);
  EXPECT_EQ(recorder_.recording()->runs.size(), 1U);
}

TEST_F(RecorderTest, WaitsForARunThatDoesNotEndOnlyForTheGracePeriod) {
  ASSERT_TRUE(recorder_.Start({.model = "", .runs = 1, .time = seconds(5)}));
  const auto run = digits_->Begin();
  timer_.Advance(seconds(5) + kGrace - std::chrono::microseconds(1));
  EXPECT_FALSE(recorder_.recording()->done);
  EXPECT_FALSE(recorder_.Start({}));
  timer_.Advance(std::chrono::microseconds(1));
  EXPECT_TRUE(recorder_.recording()->done);
  EXPECT_TRUE(recorder_.Start({}));
}

TEST_F(RecorderTest, CountsRunsWhoseEndIsNotReported) {
  ASSERT_TRUE(recorder_.Start({.model = "", .runs = 2}));
  digits_->Begin();
  EXPECT_FALSE(recorder_.recording()->done);
  EXPECT_TRUE(RunOne(*digits_));
  const Recording recording = *recorder_.recording();
  EXPECT_TRUE(recording.done);
  EXPECT_EQ(recording.runs.size(), 1U);
  EXPECT_EQ(StateToJson(recording)["runs_left_out"], 1);
}

TEST_F(RecorderTest, GivesEachRecordingItsOwnId) {
  ASSERT_TRUE(recorder_.Start({.model = "", .runs = 1}));
  EXPECT_EQ(StateToJson(*recorder_.recording())["id"], 1);
  EXPECT_FALSE(recorder_.Start({}));
  RunOne(*digits_);
  ASSERT_TRUE(recorder_.Start({}));
  EXPECT_EQ(recorder_.recording()->id, 2);
}

TEST_F(RecorderTest, TakesItsStartFromItsClocks) {
  clock_.Advance(seconds(100));
  timer_.Advance(seconds(7));
  ASSERT_TRUE(recorder_.Start({}));
  EXPECT_EQ(recorder_.recording()->at, clock_.Now());
  EXPECT_EQ(recorder_.recording()->began, timer_.Now());
}

TEST_F(RecorderTest, EndsAfterItsTime) {
  ASSERT_TRUE(recorder_.Start({.model = "", .runs = 2, .time = seconds(5)}));
  EXPECT_TRUE(RunOne(*digits_));
  timer_.Advance(seconds(5));
  EXPECT_FALSE(RunOne(*digits_));
  EXPECT_TRUE(recorder_.recording()->done);
}

TEST_F(RecorderTest, EndsWhenItIsStopped) {
  const auto id = recorder_.Start({.model = "", .runs = 2});
  ASSERT_TRUE(id);
  const auto run = digits_->Begin();
  recorder_.Stop(*id);
  EXPECT_FALSE(RunOne(*digits_)) << "no further runs are recorded";
  EXPECT_FALSE(recorder_.recording()->done) << "a run is in progress";
  digits_->Ended(run);
  EXPECT_TRUE(recorder_.recording()->done);
}

TEST_F(RecorderTest, DoesNotStopALaterRecording) {
  const auto first = recorder_.Start({.model = "", .runs = 1});
  RunOne(*digits_);
  ASSERT_TRUE(recorder_.Start({.model = "", .runs = 1}));
  recorder_.Stop(*first);
  EXPECT_TRUE(RunOne(*digits_));
}

TEST_F(RecorderTest, RecordsOnlyTheRequestedModel) {
  ASSERT_TRUE(recorder_.Start({.model = "digits", .runs = 2}));
  EXPECT_FALSE(RunOne(*words_));
  EXPECT_TRUE(RunOne(*digits_));
}

TEST_F(RecorderTest, RefusesASecondRecordingWhileOneIsInProgress) {
  ASSERT_TRUE(recorder_.Start({.model = "", .runs = 2, .time = seconds(5)}));
  RunOne(*digits_);
  const auto second = recorder_.Start({});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(second.error().message, HasSubstr("1 of 2 runs are recorded; it ends within 15 s"));
  RunOne(*digits_);
  EXPECT_TRUE(recorder_.Start({}));
  EXPECT_TRUE(recorder_.recording()->runs.empty());
}

TEST_F(RecorderTest, DoesNotAddARunToTheNextRecording) {
  ASSERT_TRUE(recorder_.Start({.model = "", .runs = 2, .time = seconds(5)}));
  const auto run = digits_->Begin();
  timer_.Advance(seconds(5) + kGrace);
  ASSERT_TRUE(recorder_.Start({}));
  digits_->Ended(run);
  EXPECT_TRUE(recorder_.recording()->runs.empty());
}

TEST_F(RecorderTest, LimitsTheRecordedNodesAndCountsTheRest) {
  ASSERT_TRUE(recorder_.Start({.model = "", .runs = 2}));
  const size_t all = kRecordingBytesMax / sizeof(engine::NodeRun);
  RunOne(*digits_, all);
  RunOne(*digits_, 10);
  const Recording recording = *recorder_.recording();
  EXPECT_LT(recording.runs[0]->run.profile.nodes.size(), all);
  EXPECT_EQ(recording.runs[1]->run.profile.left_out, 10);
  EXPECT_EQ(StateToJson(recording)["nodes"], recording.runs[0]->run.profile.nodes.size());
  EXPECT_EQ(StateToJson(recording)["nodes_left_out"], recording.runs[0]->run.profile.left_out + 10);
}

// Returns how many bytes the recorded run occupies in memory.
size_t BytesOf(const RecordedRun& recorded) {
  const batching::WatchedRun& run = recorded.run;
  size_t bytes = sizeof(recorded) + engine::TextBytes(run.inputs);
  bytes += run.profile.nodes.capacity() * sizeof(engine::NodeRun);
  for (const engine::NodeRun& node : run.profile.nodes) bytes += engine::TextBytes(node.node);
  return bytes;
}

TEST_F(RecorderTest, StaysWithinItsMemoryLimitIncludingReservedNodesAndInputTexts) {
  ASSERT_TRUE(recorder_.Start({.model = "", .runs = 1000}));
  for (int i = 0; i < 1000; ++i) {
    const auto run = digits_->Begin();
    run->inputs = std::string(20'000, 'x');
    for (int node = 0; node < (i == 0 ? 50'000 : 17); ++node) {
      run->profile.Note({.node = std::string(40, 'n'), .op = "Relu", .how = "loops"});
    }
    digits_->Ended(run);
  }
  const Recording recording = *recorder_.recording();
  ASSERT_EQ(recording.runs.size(), 1000U);
  size_t bytes = 0;
  for (const auto& run : recording.runs) bytes += BytesOf(*run);
  EXPECT_LE(bytes, static_cast<size_t>(kRecordingBytesMax));
  EXPECT_GT(bytes, static_cast<size_t>(kRecordingBytesMax) * 9 / 10);
  EXPECT_EQ(recording.runs[0]->run.inputs.size(), 20'000U);
  EXPECT_TRUE(recording.runs.back()->run.inputs.empty()) << "the limit was reached";
}

TEST(RecordingRequest, ShowsATimeThatIsNotAWholeNumberOfSeconds) {
  Recording recording;
  recording.wanted.time = std::chrono::milliseconds(1500);
  EXPECT_EQ(StateToJson(recording)["seconds"], 1.5);
}

TEST(RecordingRequest, HasDefaults) {
  EXPECT_EQ(ParseRecordingRequest("\n")->runs, 20);
  const auto wanted = ParseRecordingRequest(R"({"model": "digits", "runs": 1000, "seconds": 300})");
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->model, "digits");
  EXPECT_EQ(wanted->runs, 1000);
  EXPECT_EQ(wanted->time, seconds(300));
}

TEST(RecordingRequest, NamesTheFieldThatIsWrong) {
  const auto why = [](const char* text) { return ParseRecordingRequest(text).error().message; };
  EXPECT_THAT(why(R"({"runs": 0})"), HasSubstr("runs: 0 is not a whole number from 1 to 1000"));
  EXPECT_THAT(why(R"({"runs": "abc"})"), HasSubstr("runs: \"abc\" is not"));
  EXPECT_THAT(why(R"({"runs": 1.5})"), HasSubstr("runs: 1.5 is not"));
  EXPECT_THAT(why(R"({"runs": 18446744073709551615})"), HasSubstr("is not a whole number"));
  EXPECT_THAT(why(R"({"seconds": 301})"), HasSubstr("seconds: 301 is not a whole number from 1 to 300"));
  EXPECT_THAT(why(R"({"model": 1})"), HasSubstr("model: 1 is not a name"));
  EXPECT_THAT(why(R"({"run": 1})"), HasSubstr("unknown field \"run\""));
  EXPECT_THAT(why("[1]"), HasSubstr("send an object with some of these fields: {\"model\": NAME"));
  EXPECT_THAT(why("runs=1"), HasSubstr("not JSON"));
}

}  // namespace
}  // namespace longshore::profiling
