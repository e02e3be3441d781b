#include "serving-node/golden_set/golden_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <set>

#include "common/os/file.h"
#include "serving-node/golden_set/golden_thread.h"
#include "serving-node/models/fake_engine.h"
#include "serving-node/tensor/proto.h"
#include "tensorflow_serving/prediction_log.pb.h"

namespace longshore::golden_set {
namespace {

using namespace std::chrono_literals;
using models::FakeRecord;
using tensor::Tensor;
using testing::HasSubstr;

// The models answer y = 2 * x + version.
std::string RecordOf(float x, float y) {
  tensorflow::serving::PredictionLog log;
  auto* predict = log.mutable_predict_log();
  tensor::ToProto(Tensor::Of<float>({1, 2}, {x, x}), &(*predict->mutable_request()->mutable_inputs())["x"]);
  tensor::ToProto(Tensor::Of<float>({1, 2}, {y, y}), &(*predict->mutable_response()->mutable_outputs())["y"]);
  return log.SerializeAsString();
}

class GoldenRunsTest : public testing::Test {
 protected:
  static constexpr Duration kEvery = std::chrono::minutes(10);

  void SetUp() override {
    std::string pattern = testing::TempDir() + "/golden.XXXXXX";
    dir_ = mkdtemp(pattern.data());
    for (const char* version : {"3", "4"}) {
      std::filesystem::create_directories(dir_ / version);
      ASSERT_TRUE(WriteFileAtomically(dir_ / version / "saved_model.pb", "good"));
    }
    WriteGolden({RecordOf(1, 5), RecordOf(2, 7)});
    Serve({"digits"});
    runs_.SetState(StateOf({"digits"}));
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  void WriteGolden(const std::vector<std::string>& records) {
    ASSERT_TRUE(saved_model::WriteTfRecords(dir_ / "golden", records));
  }
  // Loads version 3 of these models, and waits until they are available.
  void Serve(const std::vector<std::string>& names) {
    std::vector<models::Wanted> wanted;
    for (const std::string& name : names)
      wanted.push_back({.name = name, .base_path = dir_, .versions = {3}, .warm_up = false});
    store_.Apply(std::move(wanted));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return store_.AllAvailable(); });
  }
  control::DesiredState StateOf(const std::vector<std::string>& names) {
    control::DesiredState state;
    for (const std::string& name : names) {
      control::ModelState& model = *state.add_models();
      model.set_served_name(name);
      control::VersionState& version = *model.add_versions();
      version.set_version(3);
      version.set_role(control::STABLE);
      version.set_load(true);
      control::Validation& validation = *model.mutable_validation();
      validation.set_golden_set("golden");
      validation.set_metric("tolerance");
      validation.set_minimum(0.9);
      validation.set_golden_every_ms(std::chrono::milliseconds(kEvery / 1ms).count());
    }
    return state;
  }
  void StepUntilResult(const std::string& model = "digits") {
    for (int i = 0; i < 100 && !runs_.ResultOf(model, 3); ++i) runs_.Step();
    ASSERT_TRUE(runs_.ResultOf(model, 3));
  }
  // Ends the run of the next interval.
  control::GoldenResult RunNext() {
    clock_.Advance(kEvery);
    for (int i = 0; i < 10; ++i) runs_.Step();
    return runs_.ResultOf("digits", 3).value_or(control::GoldenResult());
  }
  std::set<std::string> Metrics() {
    metrics::Exposition out;
    runs_.Show(&out);
    std::set<std::string> lines;
    for (const auto& [name, family] : out.families()) {
      for (const auto& [labels, metric] : family.metrics) {
        std::string line = name;
        for (const auto& [label, value] : labels) line += " " + label + "=" + value;
        lines.insert(fmt::format("{}: {}", line, metric.value));
      }
    }
    return lines;
  }
  int64_t DueOf(const std::string& model) { return ReportOf(model, runs_).golden_due_unix_ms(); }
  static control::VersionReport ReportOf(const std::string& model, const GoldenRuns& runs) {
    control::VersionReport report;
    report.set_served_name(model);
    report.set_version(3);
    runs.AddTo(&report);
    return report;
  }
  size_t RunsOfModels() {
    const std::lock_guard lock(engine_.record().mutex);
    return engine_.record().runs.size();
  }

  Path dir_;
  FakeClock clock_{TimePoint(std::chrono::hours(1000))};
  models::FakeEngine engine_;
  batching::Admission admission_{{.concurrent_runs_max = 1}};
  std::mutex mutex_;
  std::condition_variable changed_;
  models::ModelStore store_{engine_, admission_, {}, {}, [this](auto&, auto&) {
                              const std::lock_guard lock(mutex_);
                              changed_.notify_all();
                            }};
  GoldenRuns runs_{store_, clock_, {.node = "node-1", .patience = 1ms}};
};

TEST_F(GoldenRunsTest, RunOncePerInterval) {
  clock_.Advance(GoldenRuns::kFirstRunWithin);
  StepUntilResult();
  const size_t runs_before = RunsOfModels();
  std::vector<int64_t> ended_at;
  for (Duration at{0}; at < 4 * kEvery; at += kEvery / 20) {
    for (int i = 0; i < 10; ++i) runs_.Step();
    const auto result = runs_.ResultOf("digits", 3);
    const int64_t last = result ? result->at_unix_ms() : 0;
    if (last != 0 && (ended_at.empty() || ended_at.back() != last)) ended_at.push_back(last);
    clock_.Advance(kEvery / 20);
  }
  ASSERT_EQ(ended_at.size(), 5u);
  for (size_t i = 2; i < ended_at.size(); ++i) EXPECT_EQ(ended_at[i] - ended_at[i - 1], kEvery / 1ms);
  EXPECT_EQ(RunsOfModels() - runs_before, 8u) << "each run has two records";
}

TEST_F(GoldenRunsTest, TheFirstRunIsDueSoonAfterARestartHoweverLongTheIntervalIs) {
  control::DesiredState state = StateOf({"digits"});
  state.mutable_models(0)->mutable_validation()->set_golden_every_ms(std::chrono::hours(24 * 30) / 1ms);
  std::set<int64_t> due;
  for (const char* node : {"node-1", "node-2", "node-3", "node-4"}) {
    GoldenRuns restarted(store_, clock_, {.node = node, .patience = 1ms});
    restarted.SetState(state);
    const control::VersionReport report = ReportOf("digits", restarted);
    EXPECT_GE(report.golden_due_unix_ms(), ToUnixMillis(clock_.Now()));
    EXPECT_LE(report.golden_due_unix_ms(), ToUnixMillis(clock_.Now() + GoldenRuns::kFirstRunWithin));
    EXPECT_FALSE(report.has_golden());
    due.insert(report.golden_due_unix_ms());
  }
  EXPECT_EQ(due.size(), 4u) << "the nodes of a fleet do not run all at once";
}

TEST_F(GoldenRunsTest, ARunThatWaitsIsReportedWithTheTimeWhenItWasDue) {
  RunNext();
  clock_.Advance(3 * kEvery);
  const control::VersionReport report = ReportOf("digits", runs_);
  EXPECT_EQ(report.golden().at_unix_ms(), ToUnixMillis(clock_.Now() - 3 * kEvery));
  EXPECT_LE(report.golden_due_unix_ms(), ToUnixMillis(clock_.Now() - 2 * kEvery));
  control::DesiredState state = StateOf({"digits"});
  state.mutable_models(0)->mutable_versions(0)->set_golden_request("r1");
  runs_.SetState(state);
  EXPECT_EQ(DueOf("digits"), report.golden_due_unix_ms()) << "a request does not make the run less late";
}

TEST_F(GoldenRunsTest, ARequestedRunIsDueAtOnceAndRunsOnce) {
  RunNext();
  control::DesiredState state = StateOf({"digits"});
  state.mutable_models(0)->mutable_versions(0)->set_golden_request("r1");
  runs_.SetState(state);
  for (int i = 0; i < 10; ++i) runs_.Step();
  EXPECT_EQ(runs_.ResultOf("digits", 3)->request(), "r1");
  EXPECT_EQ(RunsOfModels(), 4u);
  EXPECT_EQ(RunNext().request(), "") << "the run of the next interval is not requested";
  for (int i = 0; i < 10; ++i) runs_.Step();
  EXPECT_EQ(RunsOfModels(), 6u);
  state.mutable_models(0)->mutable_versions(0)->set_golden_request("r2");
  runs_.SetState(state);
  for (int i = 0; i < 10; ++i) runs_.Step();
  EXPECT_EQ(runs_.ResultOf("digits", 3)->request(), "r2");
}

TEST_F(GoldenRunsTest, ARequestedRunEndsWhenTheRequestIsWithdrawn) {
  RunNext();
  control::DesiredState state = StateOf({"digits"});
  state.mutable_models(0)->mutable_versions(0)->set_golden_request("r1");
  runs_.SetState(state);
  runs_.Step();
  EXPECT_EQ(RunsOfModels(), 3u) << "one of two records";
  runs_.SetState(StateOf({"digits"}));
  for (int i = 0; i < 10; ++i) runs_.Step();
  EXPECT_EQ(RunsOfModels(), 3u);
}

TEST_F(GoldenRunsTest, AGoldenSetThatIsNotRepeatedRunsIfItIsRequested) {
  control::DesiredState state = StateOf({"digits"});
  state.mutable_models(0)->mutable_validation()->set_golden_every_ms(0);
  state.mutable_models(0)->mutable_versions(0)->set_golden_request("r1");
  runs_.SetState(state);
  StepUntilResult();
  EXPECT_TRUE(runs_.ResultOf("digits", 3)->ok());
  EXPECT_EQ(DueOf("digits"), 0);
  EXPECT_EQ(RunNext().request(), "r1");
}

TEST_F(GoldenRunsTest, ARunThatIsUnderWayGivesWayToARequestedOne) {
  Serve({"a", "b"});
  runs_.SetState(StateOf({"a", "b"}));
  clock_.Advance(kEvery);
  runs_.Step();
  EXPECT_EQ(RunsOfModels(), 1u);
  const bool a_began = DueOf("a") < DueOf("b");
  const std::string begun = a_began ? "a" : "b";
  const std::string other = a_began ? "b" : "a";
  control::DesiredState state = StateOf({"a", "b"});
  for (control::ModelState& model : *state.mutable_models()) {
    if (model.served_name() == other) model.mutable_versions(0)->set_golden_request("r1");
  }
  runs_.SetState(state);
  StepUntilResult(other);
  EXPECT_EQ(runs_.ResultOf(other, 3)->request(), "r1");
  EXPECT_FALSE(runs_.ResultOf(begun, 3));
  StepUntilResult(begun);
}

TEST_F(GoldenRunsTest, ResultsCountTheRecordsThatPassed) {
  control::GoldenResult result = RunNext();
  EXPECT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(result.records(), 2);
  EXPECT_EQ(result.passed(), 2);
  EXPECT_EQ(result.at_unix_ms(), ToUnixMillis(clock_.Now()));
  WriteGolden({RecordOf(1, 5), RecordOf(2, 8)});
  result = RunNext();
  EXPECT_FALSE(result.ok());
  EXPECT_DOUBLE_EQ(result.score(), 0.5);
  EXPECT_THAT(result.message(), HasSubstr("scored 0.5000, below the minimum of 0.9000 (1 of 2 records passed"));
  EXPECT_THAT(result.message(), HasSubstr("first difference: record 1: output \"y\" is 7 at index 0, not 8"));
}

TEST_F(GoldenRunsTest, ARecordThatFindsTheNodeBusyIsTriedAgain) {
  engine_.record().Set(&FakeRecord::holding, true);
  std::promise<void> answered;
  store_.Find("digits", 3).value()->queue->Submit(models::RowsRequest({1, 1}), {}, [&](auto) { answered.set_value(); });
  engine_.record().Wait([&] { return engine_.record().runs.size() == 1; });
  clock_.Advance(kEvery);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(runs_.Step(), 1s);
  EXPECT_FALSE(runs_.ResultOf("digits", 3));
  engine_.record().Set(&FakeRecord::holding, false);
  answered.get_future().wait();
  StepUntilResult();
  EXPECT_TRUE(runs_.ResultOf("digits", 3)->ok());
  EXPECT_EQ(runs_.ResultOf("digits", 3)->records(), 2);
  EXPECT_EQ(RunsOfModels(), 3u);
}

TEST_F(GoldenRunsTest, ARecordThatFindsTooLittleMemoryIsTriedAgain) {
  engine_.record().Set(&FakeRecord::out_of_memory, true);
  clock_.Advance(kEvery);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(runs_.Step(), 1s);
  EXPECT_FALSE(runs_.ResultOf("digits", 3));
  engine_.record().Set(&FakeRecord::out_of_memory, false);
  StepUntilResult();
  EXPECT_TRUE(runs_.ResultOf("digits", 3)->ok()) << runs_.ResultOf("digits", 3)->message();
}

TEST_F(GoldenRunsTest, ARecordThatAlwaysNeedsTooMuchMemoryFailsTheRun) {
  WriteGolden({RecordOf(1, 5)});
  engine_.record().Set(&FakeRecord::out_of_memory, true);
  clock_.Advance(kEvery);
  for (int i = 1; i < GoldenRuns::kTriesWithoutMemoryMax; ++i) EXPECT_EQ(runs_.Step(), 1s);
  StepUntilResult();
  EXPECT_THAT(runs_.ResultOf("digits", 3)->message(), HasSubstr("golden record 0: RESOURCE_EXHAUSTED"));
}

TEST_F(GoldenRunsTest, UseATenthOfTheTimeOfOneSlot) {
  engine_.record().row_time = 2ms;
  clock_.Advance(kEvery);
  EXPECT_GE(runs_.Step(), 18ms);
}

TEST_F(GoldenRunsTest, ARecordThatTheVersionCannotAnswerFailsTheRun) {
  std::vector<std::string> records(20, RecordOf(1, 5));
  records[3] = RecordOf(models::kPoison, 0);
  WriteGolden(records);
  clock_.Advance(kEvery);
  StepUntilResult();
  const auto result = runs_.ResultOf("digits", 3);
  EXPECT_FALSE(result->ok());
  EXPECT_EQ(result->records(), 20);
  EXPECT_EQ(result->passed(), 19);
  EXPECT_THAT(result->message(), HasSubstr("golden record 3: INVALID_ARGUMENT: poison"));
}

TEST_F(GoldenRunsTest, AFileThatCannotBeReadIsReportedWithItsNameAndTheRecord) {
  std::filesystem::remove(dir_ / "golden");
  control::GoldenResult result = RunNext();
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.records(), 0);
  EXPECT_THAT(result.message(), HasSubstr("golden set: cannot read " + (dir_ / "golden").string()));
  WriteGolden({RecordOf(1, 5), "no message"});
  EXPECT_THAT(RunNext().message(), HasSubstr("golden set: " + (dir_ / "golden").string() + ": record 1 at byte "));
  WriteGolden({});
  EXPECT_THAT(RunNext().message(), HasSubstr("holds no records"));
  WriteGolden({RecordOf(1, 5)});
  EXPECT_TRUE(RunNext().ok());
}

TEST_F(GoldenRunsTest, OnlyStableVersionsThatThisNodeLoadsRun) {
  for (const auto role : {control::CANDIDATE, control::EXTRA}) {
    control::DesiredState state = StateOf({"digits"});
    state.mutable_models(0)->mutable_versions(0)->set_role(role);
    runs_.SetState(state);
    EXPECT_EQ(RunNext().at_unix_ms(), 0);
  }
  control::DesiredState state = StateOf({"digits"});
  state.mutable_models(0)->mutable_versions(0)->set_load(false);
  runs_.SetState(state);
  EXPECT_EQ(RunNext().at_unix_ms(), 0);
  state = StateOf({"digits"});
  state.mutable_models(0)->mutable_validation()->set_golden_every_ms(0);
  runs_.SetState(state);
  EXPECT_EQ(RunNext().at_unix_ms(), 0);
  EXPECT_EQ(RunsOfModels(), 0u);
}

TEST_F(GoldenRunsTest, AResultIsDroppedWhenTheVersionIsNoLongerStableOrIsJudgedOtherwise) {
  RunNext();
  runs_.SetState(StateOf({"digits"}));
  EXPECT_TRUE(runs_.ResultOf("digits", 3)) << "nothing changed";
  control::DesiredState state = StateOf({"digits"});
  state.mutable_models(0)->mutable_validation()->set_pair_share(0.5);
  runs_.SetState(state);
  EXPECT_TRUE(runs_.ResultOf("digits", 3)) << "pairs do not change the golden set";
  state.mutable_models(0)->mutable_validation()->set_minimum(0.5);
  runs_.SetState(state);
  EXPECT_FALSE(runs_.ResultOf("digits", 3));
  RunNext();
  state.mutable_models(0)->mutable_versions(0)->set_role(control::EXTRA);
  runs_.SetState(state);
  EXPECT_FALSE(runs_.ResultOf("digits", 3));
}

TEST_F(GoldenRunsTest, ARunThatIsNoLongerWantedEndsWithoutAResult) {
  clock_.Advance(kEvery);
  runs_.Step();
  EXPECT_EQ(RunsOfModels(), 1u);
  runs_.SetState(control::DesiredState());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(runs_.Step(), 1s);
  EXPECT_EQ(RunsOfModels(), 1u);
}

TEST_F(GoldenRunsTest, AVersionThatIsNotReadyIsRunWhenItIs) {
  store_.Apply({{.name = "other", .base_path = dir_, .versions = {4}}});
  EXPECT_EQ(RunNext().at_unix_ms(), 0);
  Serve({"digits"});
  for (int i = 0; i < 10; ++i) runs_.Step();
  EXPECT_TRUE(runs_.ResultOf("digits", 3));
}

TEST_F(GoldenRunsTest, TheModelThatIsDueLongestRunsFirst) {
  Serve({"a", "b", "c"});
  runs_.SetState(StateOf({"a", "b", "c"}));
  metrics::Exposition out;
  runs_.Show(&out);
  std::vector<std::pair<double, std::string>> due;
  for (const auto& [labels, metric] : out.families().at("longshore_golden_due_timestamp_seconds").metrics)
    due.emplace_back(metric.value, labels.at("model"));
  std::ranges::sort(due);
  clock_.Advance(kEvery);
  for (size_t ended = 0; ended < due.size(); ++ended) {
    StepUntilResult(due[ended].second);
    for (size_t i = 0; i < due.size(); ++i)
      EXPECT_EQ(runs_.ResultOf(due[i].second, 3).has_value(), i <= ended) << due[i].second;
  }
}

TEST_F(GoldenRunsTest, NodesAndModelsRunAtDifferentTimes) {
  std::set<std::string> due;
  for (const char* node : {"node-1", "node-2", "node-3", "node-4"}) {
    GoldenRuns runs(store_, clock_, {.node = node});
    runs.SetState(StateOf({"digits", "letters"}));
    metrics::Exposition out;
    runs.Show(&out);
    for (const auto& [_, metric] : out.families().at("longshore_golden_due_timestamp_seconds").metrics) {
      EXPECT_GT(metric.value, 3600 * 1000);
      EXPECT_LE(metric.value, 3600 * 1000 + 600);
      due.insert(fmt::format("{:.0f}", metric.value));
    }
  }
  EXPECT_EQ(due.size(), 8u);
}

TEST_F(GoldenRunsTest, MetricsShowTheLastResultAndTheRuns) {
  RunNext();
  WriteGolden({RecordOf(1, 5), RecordOf(2, 8)});
  RunNext();
  const std::set<std::string> lines = Metrics();
  const std::string labels = " model=digits";
  EXPECT_TRUE(lines.contains("longshore_golden_score model=digits version=3: 0.5"));
  EXPECT_TRUE(lines.contains("longshore_golden_passed model=digits version=3: 0"));
  EXPECT_TRUE(lines.contains("longshore_golden_interval_seconds model=digits version=3: 600"));
  EXPECT_TRUE(lines.contains("longshore_golden_runs_total model=digits result=passed version=3: 1"));
  EXPECT_TRUE(lines.contains("longshore_golden_runs_total model=digits result=failed version=3: 1"));
  EXPECT_TRUE(lines.contains("longshore_golden_last_run_timestamp_seconds model=digits version=3: 3601200"));
}

TEST_F(GoldenRunsTest, TheThreadRunsWhatIsDue) {
  clock_.Advance(kEvery);
  {
    GoldenThread thread(runs_);
    engine_.record().Wait([&] { return engine_.record().runs.size() == 2; });
  }
  EXPECT_EQ(RunsOfModels(), 2u);
}

}  // namespace
}  // namespace longshore::golden_set
