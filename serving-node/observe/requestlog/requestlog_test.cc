#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <future>

#include "common/os/file.h"
#include "serving-node/engine/host/host.h"
#include "serving-node/inference/inputs.h"
#include "serving-node/observe/requestlog/logging_predictor.h"
#include "serving-node/observe/requestlog/record_files.h"
#include "serving-node/observe/requestlog/request_log.h"
#include "serving-node/rehearsal/rehearsal.h"
#include "serving-node/routing/answer.h"
#include "serving-node/saved_model/tfrecord.h"
#include "serving-node/tensor/proto.h"
#include "tensorflow_serving/prediction_log.pb.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::requestlog {
namespace {

using tensorflow::serving::PredictionLog;
using testing::ElementsAre;
using testing::HasSubstr;

const Path kDigits = source_tree::Root() / "tests" / "models" / "digits";

class RequestLogTest : public testing::Test {
 protected:
  RequestLogTest() {
    std::string pattern = testing::TempDir() + "/requestlog.XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  ~RequestLogTest() override { std::filesystem::remove_all(dir_); }

  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& each : std::filesystem::recursive_directory_iterator(dir_)) {
      if (each.path().extension() == ".tfrecord") names.push_back(each.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
  std::vector<std::string> RecordsOf(const std::string& file) const {
    return saved_model::ReadTfRecords(dir_ / file, 100'000).value();
  }

  Path dir_;
};

// Answers y = 2 x, or fails for the model "broken".
class Doubling final : public routing::Predictor {
 public:
  void Predict(routing::PredictCall call, routing::PredictDone done) override {
    routing::PredictAnswer answer;
    answer.model_spec = call.request.model_spec();
    if (answer.model_spec.name() == "broken") return done(Internal("broken"));
    answer.model_spec.mutable_version()->set_value(3);
    const float x = call.request.ReadInputs(1, 0)->at("x").values<float>()[0];
    answer.outputs["y"] = tensor::Tensor::Of<float>({1}, {2 * x});
    done(std::move(answer));
  }
};

void Ask(routing::Predictor& predictor, const std::string& model, float x) {
  routing::PredictCall call;
  tensorflow::serving::PredictRequest request;
  request.mutable_model_spec()->set_name(model);
  tensor::ToProto(tensor::Tensor::Of<float>({1}, {x}), &(*request.mutable_inputs())["x"]);
  call.request = inference::Request::Parse(request).value();
  predictor.Predict(std::move(call), [](const auto&) {});
}

TEST_F(RequestLogTest, WritesRequestsWithTheirAnswers) {
  Doubling doubling;
  metrics::Registry registry;
  {
    RequestLog log({.node = "n"}, registry);
    log.SetPolicies({{"digits", {dir_ / "digits", 1}}, {"broken", {dir_ / "broken", 1}}});
    LoggingPredictor predictor(doubling, log);
    for (const char* model : {"digits", "other", "broken"}) Ask(predictor, model, 1.5);
  }
  ASSERT_THAT(Files(), ElementsAre("digits-n-000001.tfrecord"));
  const auto records = RecordsOf("digits-n-000001.tfrecord");
  ASSERT_EQ(records.size(), 1u);
  PredictionLog log;
  ASSERT_TRUE(log.ParseFromString(records[0]));
  EXPECT_EQ(log.log_metadata().model_spec().version().value(), 3);
  EXPECT_EQ(log.log_metadata().sampling_config().sampling_rate(), 1);
  EXPECT_EQ(log.predict_log().request().inputs().at("x").float_val(0), 1.5F);
  EXPECT_EQ(log.predict_log().response().outputs().at("y").float_val(0), 3);
  EXPECT_EQ(log.predict_log().response().model_spec().version().value(), 3);
  EXPECT_THAT(registry.Text(), HasSubstr("longshore_request_log_total{model=\"digits\",outcome=\"written\"} 1\n"));
  EXPECT_THAT(registry.Text(),
              HasSubstr(":tensorflow:serving:request_log_count{model_name=\"digits\",status_code=\"OK\"} 1\n"));
}

// Answers with version 2 of the model "digits".
class Digits final : public routing::Predictor {
 public:
  explicit Digits(engine::Engine& engine) : model_(engine.Load(kDigits / "2", {}).value()) {}
  void Predict(routing::PredictCall call, routing::PredictDone done) override {
    auto run = inference::ToRunRequest(call.request, model_->signatures()).value();
    done(routing::AnswerOf(call.request.model_spec(), 2, engine::RunAndWait(*model_, std::move(run)).value()));
  }

 private:
  const std::shared_ptr<engine::LoadedModel> model_;
};

control::GoldenResult Judge(engine::Engine& engine, const char* version, const Path& golden_set) {
  rehearsal::RehearsalOptions options;
  options.version_dir = kDigits / version;
  options.validation.set_golden_set(golden_set.string());
  options.validation.set_metric("tolerance");
  options.validation.set_relative_tolerance(1e-6);
  options.validation.set_minimum(1);
  const auto judged = rehearsal::Judge(engine, options);
  EXPECT_TRUE(judged) << ToString(judged.error());
  return judged.value_or(control::GoldenResult());
}

TEST_F(RequestLogTest, WritesFilesThatWorkAsGoldenSets) {
  const auto engine = engine::host::MakeEngine({.threads = 1});
  metrics::Registry registry;
  {
    Digits digits(*engine);
    RequestLog log({.node = "n"}, registry);
    log.SetPolicies({{"digits", {dir_ / "digits", 1}}});
    LoggingPredictor predictor(digits, log);
    for (int i = 0; i < 10; ++i) {
      routing::PredictCall call;
      tensorflow::serving::ModelSpec spec;
      spec.set_name("digits");
      const std::vector<float> pixels(64, 0.1F * static_cast<float>(i));
      call.request = inference::Request(spec, {{"image", tensor::Tensor::Of<float>({1, 8, 8, 1}, pixels)}});
      predictor.Predict(std::move(call), [](const auto&) {});
    }
    log.Flush();
  }
  const auto same = Judge(*engine, "2", dir_ / "digits-n-000001.tfrecord");
  EXPECT_TRUE(same.ok()) << same.message();
  EXPECT_EQ(same.records(), 10);
  EXPECT_FALSE(Judge(*engine, "3", dir_ / "digits-n-000001.tfrecord").ok());
}

TEST_F(RequestLogTest, SamplesTheConfiguredShare) {
  metrics::Registry registry;
  RequestLog log({.node = "n"}, registry);
  log.SetPolicies({{"a", {dir_ / "a", 0.1}}, {"none", {dir_ / "none", 0}}});
  int sampled = 0;
  for (int i = 0; i < 20'000; ++i) sampled += log.Samples("a") ? 1 : 0;
  EXPECT_NEAR(sampled, 2000, 300);
  EXPECT_FALSE(log.Samples("none"));
  EXPECT_FALSE(log.Samples("b"));
  log.SetPolicies({});
  EXPECT_FALSE(log.Samples("a"));
}

TEST_F(RequestLogTest, DropsAndCountsRecordsAboveTheLimitOfWaitingBytes) {
  Doubling doubling;
  metrics::Registry registry;
  {
    RequestLog log({.node = "n", .waiting_bytes_max = 10}, registry);
    log.SetPolicies({{"digits", {dir_ / "digits", 1}}});
    LoggingPredictor predictor(doubling, log);
    for (int i = 0; i < 5; ++i) Ask(predictor, "digits", 1);
  }
  EXPECT_THAT(Files(), ElementsAre());
  EXPECT_THAT(registry.Text(), HasSubstr("longshore_request_log_total{model=\"digits\",outcome=\"dropped\"} 5\n"));
}

TEST_F(RequestLogTest, LogsAgainWhenTheFileSystemWorksAgain) {
  Doubling doubling;
  metrics::Registry registry;
  const Path in_the_way = dir_ / "folder";
  ASSERT_TRUE(WriteFileAtomically(in_the_way, "a file where the folder should be"));
  {
    RequestLog log({.node = "n", .pause_on_error = std::chrono::milliseconds(0)}, registry);
    log.SetPolicies({{"digits", {in_the_way / "digits", 1}}});
    LoggingPredictor predictor(doubling, log);
    Ask(predictor, "digits", 1);
    while (registry.Text().find("outcome=\"failed\"} 1\n") == std::string::npos) std::this_thread::yield();
    std::filesystem::remove(in_the_way);
    Ask(predictor, "digits", 2);
  }
  EXPECT_THAT(registry.Text(), HasSubstr("longshore_request_log_total{model=\"digits\",outcome=\"written\"} 1\n"));
  EXPECT_THAT(Files(), ElementsAre("digits-n-000001.tfrecord"));
}

TEST_F(RequestLogTest, PausesAfterAFailedWrite) {
  Doubling doubling;
  metrics::Registry registry;
  ASSERT_TRUE(WriteFileAtomically(dir_ / "folder", ""));
  {
    RequestLog log({.node = "n", .pause_on_error = std::chrono::hours(1)}, registry);
    log.SetPolicies({{"digits", {dir_ / "folder" / "digits", 1}}});
    LoggingPredictor predictor(doubling, log);
    Ask(predictor, "digits", 1);
    while (registry.Text().find("outcome=\"failed\"} 1\n") == std::string::npos) std::this_thread::yield();
    std::filesystem::remove(dir_ / "folder");
    Ask(predictor, "digits", 2);
  }
  EXPECT_THAT(registry.Text(), HasSubstr("longshore_request_log_total{model=\"digits\",outcome=\"failed\"} 2\n"));
}

TEST_F(RequestLogTest, LimitsTheRecordsPerFileAndTheNumberOfFiles) {
  RecordFiles files(dir_ / "a", "n", {.file_bytes_max = 1000, .file_records_max = 2, .files_max = 3});
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(files.Append(std::to_string(i)));
  EXPECT_THAT(Files(), ElementsAre("a-n-000003.tfrecord", "a-n-000004.tfrecord", "a-n-000005.tfrecord"));
  EXPECT_THAT(RecordsOf("a-n-000004.tfrecord"), ElementsAre("6", "7"));
  EXPECT_THAT(RecordsOf("a-n-000005.tfrecord"), ElementsAre("8"));
}

TEST_F(RequestLogTest, LimitsTheBytesPerFile) {
  RecordFiles files(dir_ / "a", "n", {.file_bytes_max = 100, .file_records_max = 1000, .files_max = 3});
  const std::string payload(30, 'x');  // A record with this payload has 46 bytes.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(files.Append(payload));
  EXPECT_THAT(Files(), ElementsAre("a-n-000001.tfrecord", "a-n-000002.tfrecord"));
  const Status refused = files.Append(std::string(100, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
}

TEST_F(RequestLogTest, ContinuesItsFileAfterTheLastCompleteRecord) {
  std::string begun = saved_model::EncodeTfRecord("1") + saved_model::EncodeTfRecord("2");
  begun.pop_back();
  ASSERT_TRUE(WriteFileAtomically(dir_ / "a-n-000007.tfrecord", begun));
  RecordFiles files(dir_ / "a", "n", {.file_records_max = 2, .files_max = 9});
  ASSERT_TRUE(files.Append("x"));
  ASSERT_TRUE(files.Append("y"));
  EXPECT_THAT(RecordsOf("a-n-000007.tfrecord"), ElementsAre("1", "x"));
  EXPECT_THAT(RecordsOf("a-n-000008.tfrecord"), ElementsAre("y"));
}

TEST_F(RequestLogTest, DoesNotTouchFilesOfOtherNodesAndPrefixes) {
  for (const char* other : {"a-000001.tfrecord", "a-m-000001.tfrecord", "a-b-n-000001.tfrecord"})
    ASSERT_TRUE(WriteFileAtomically(dir_ / other, "another node's file"));
  RecordFiles files(dir_ / "a", "n", {.file_records_max = 1, .files_max = 1});
  ASSERT_TRUE(files.Append("x"));
  ASSERT_TRUE(files.Append("y"));
  EXPECT_THAT(Files(),
              ElementsAre("a-000001.tfrecord", "a-b-n-000001.tfrecord", "a-m-000001.tfrecord", "a-n-000002.tfrecord"));
}

TEST_F(RequestLogTest, KeepsTheFilesOfTwoNodesWithTheSameNameApart) {
  {
    RecordFiles first(dir_ / "a", "n/1", {.file_records_max = 1, .files_max = 1});
    RecordFiles second(dir_ / "a", "n/1", {.file_records_max = 1, .files_max = 1});
    ASSERT_TRUE(first.Append("x"));
    ASSERT_TRUE(second.Append("y"));
    ASSERT_TRUE(second.Append("z"));
  }
  EXPECT_THAT(Files(), ElementsAre("a-n_1-000001.tfrecord", "a-n_1.2-000002.tfrecord"));
  RecordFiles third(dir_ / "a", "n/1", {});
  ASSERT_TRUE(third.Append("u"));
  EXPECT_THAT(RecordsOf("a-n_1-000001.tfrecord"), ElementsAre("x", "u")) << "the lock on the name was released";
}

// Strings are not part of a tensor's own bytes, so the limit must count the serialized answer.
TEST_F(RequestLogTest, CountsTheSerializedBytesOfAnAnswer) {
  metrics::Registry registry;
  RequestLog log({.node = "n", .waiting_bytes_max = 1000}, registry);
  log.SetPolicies({{"digits", {dir_ / "digits", 1}}});
  routing::PredictAnswer answer;
  answer.model_spec.set_name("digits");
  answer.outputs["y"] = tensor::Tensor::Of<std::string>({1}, {std::string(2000, 'y')});
  log.Offer({}, answer);
  log.Flush();
  EXPECT_THAT(registry.Text(), HasSubstr("longshore_request_log_total{model=\"digits\",outcome=\"dropped\"} 1\n"));
}

TEST_F(RequestLogTest, LeavesNoIncompleteRecordOnAFullDisk) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  RecordFiles files(dir_ / "a", "n", {});
  const std::string payload(600, 'x');
  ASSERT_TRUE(files.Append(payload));
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status refused = files.Append(payload);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(RecordsOf("a-n-000001.tfrecord"), ElementsAre(payload));
  ASSERT_TRUE(files.Append("y"));
  EXPECT_THAT(RecordsOf("a-n-000001.tfrecord"), ElementsAre(payload, "y"));
}

TEST_F(RequestLogTest, SaysWhyARecordCouldNotBeWrittenUntilOneIsWritten) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  Doubling doubling;
  metrics::Registry registry;
  RequestLog log({.node = "n", .pause_on_error = std::chrono::milliseconds(0)}, registry);
  const Policies policies = {{"digits", {dir_ / "digits", 1}}};
  log.SetPolicies(policies);
  LoggingPredictor predictor(doubling, log);
  const auto ask_on_full_disk = [&] {
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
    Ask(predictor, "digits", 1);
    log.Flush();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  };
  ask_on_full_disk();
  ASSERT_EQ(log.health().Problems().size(), 1u);
  EXPECT_THAT(log.health().Problems().at("digits"), testing::EndsWith("digits-n: File too large"));
  Ask(predictor, "digits", 2);
  log.Flush();
  EXPECT_TRUE(log.health().Problems().empty());
  ask_on_full_disk();
  ASSERT_EQ(log.health().Problems().size(), 1u);
  log.TryAgain();
  log.Flush();
  EXPECT_TRUE(log.health().Problems().empty()) << "even if the model gets no more requests";
  ask_on_full_disk();
  log.SetPolicies({});
  EXPECT_TRUE(log.health().Problems().empty()) << "the log of this model is off";
}

TEST_F(RequestLogTest, AFileThatCannotBeOpenedIsAProblemUntilItCan) {
  Doubling doubling;
  metrics::Registry registry;
  RequestLog log({.node = "n", .pause_on_error = std::chrono::milliseconds(0)}, registry);
  log.SetPolicies({{"digits", {dir_ / "digits", 1}}});
  LoggingPredictor predictor(doubling, log);
  std::filesystem::create_directory(dir_ / "digits-n.lock");
  Ask(predictor, "digits", 1);
  log.Flush();
  EXPECT_TRUE(log.health().Problems().contains("digits"));
  log.TryAgain();
  log.Flush();
  EXPECT_TRUE(log.health().Problems().contains("digits")) << "the folder is writable, but the file is not";
  std::filesystem::remove(dir_ / "digits-n.lock");
  log.TryAgain();
  log.Flush();
  EXPECT_TRUE(log.health().Problems().empty());
}

TEST_F(RequestLogTest, ARequestThatCannotBeConvertedIsNoProblemOfTheDisk) {
  metrics::Registry registry;
  RequestLog log({.node = "n"}, registry);
  log.SetPolicies({{"digits", {dir_ / "digits", 1}}});
  routing::PredictAnswer answer;
  answer.model_spec.set_name("digits");
  log.Offer(Pieces(std::string("\xff")), answer);
  log.Flush();
  EXPECT_THAT(registry.Text(), HasSubstr("longshore_request_log_total{model=\"digits\",outcome=\"failed\"} 1\n"));
  EXPECT_TRUE(log.health().Problems().empty());
}

TEST_F(RequestLogTest, RemovesNoOldFileWhileTheDiskIsFull) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  RecordFiles files(dir_ / "a", "n", {.file_records_max = 1, .files_max = 2});
  ASSERT_TRUE(files.Append("1"));
  ASSERT_TRUE(files.Append("2"));
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(files.Append("3"));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(RecordsOf("a-n-000001.tfrecord"), ElementsAre("1"));
  EXPECT_THAT(RecordsOf("a-n-000002.tfrecord"), ElementsAre("2"));
  ASSERT_TRUE(files.Append("3"));
  EXPECT_THAT(RecordsOf("a-n-000002.tfrecord"), ElementsAre("2"));
  EXPECT_THAT(RecordsOf("a-n-000003.tfrecord"), ElementsAre("3"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "a-n-000001.tfrecord"));
}

}  // namespace
}  // namespace longshore::requestlog
