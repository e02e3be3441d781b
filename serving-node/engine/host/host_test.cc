// Tests whole models against known results: linear functions, labels of digits, rows for which TensorFlow answered NaN,
// and table lookups. ops_test.cc compares single ops with TensorFlow.
#include "serving-node/engine/host/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <future>
#include <limits>
#include <stdexcept>
#include <thread>

#include "common/os/file.h"
#include "tensorflow/example.pb.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::engine::host {
namespace {

using tensor::Tensor;
using testing::HasSubstr;

const Path kModels = source_tree::Root() / "tests" / "models";

std::shared_ptr<LoadedModel> LoadOrFail(Engine& engine, const Path& dir) {
  auto model = engine.Load(dir, {});
  EXPECT_TRUE(model.has_value()) << (model ? "" : ToString(model.error()));
  return model ? *model : nullptr;
}

std::vector<float> Images(size_t count) {
  std::vector<float> pixels(count * 64);
  std::ifstream file(kModels / "digits" / "traffic.f32", std::ios::binary);
  file.read(reinterpret_cast<char*>(pixels.data()), static_cast<std::streamsize>(pixels.size() * sizeof(float)));
  EXPECT_TRUE(file.good());
  return pixels;
}

RunRequest DigitsRequest(size_t count) {
  return {"serving_default", {{"image", Tensor::Of<float>({static_cast<int64_t>(count), 8, 8, 1}, Images(count))}}, {}};
}

std::string ExampleOf(float x, float x2) {
  tensorflow::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["x"].mutable_float_list()->add_value(x);
  features["x2"].mutable_float_list()->add_value(x2);
  return example.SerializeAsString();
}

TEST(HostEngine, ComputesTheOutputsOfSeveralSignaturesOfExamplesInOneRun) {
  const auto engine = MakeEngine();
  const auto model = LoadOrFail(*engine, kModels / "examples_tf1" / "1");
  ASSERT_NE(model, nullptr);
  const TensorMap inputs = {{"inputs", Tensor::Of<std::string>({2}, {ExampleOf(2, 4), ExampleOf(-3, 1)})}};
  const auto together = RunAndWait(*model, {"regress_x2", inputs, {"classify_x/scores", "regress_x2/outputs"}});
  ASSERT_TRUE(together) << ToString(together.error());
  const auto scores = RunAndWait(*model, {"classify_x", inputs, {"scores"}});
  const auto outputs = RunAndWait(*model, {"regress_x2", inputs, {}});
  ASSERT_TRUE(scores && outputs);
  ASSERT_EQ(together->size(), 2u);
  const auto values = [](const TensorMap& all, const char* name) {
    const auto span = all.at(name).values<float>();
    return std::vector<float>(span.begin(), span.end());
  };
  EXPECT_EQ(values(*together, "classify_x/scores"), values(*scores, "scores"));
  EXPECT_EQ(values(*together, "regress_x2/outputs"), values(*outputs, "outputs"));
  for (const char* unknown : {"none/outputs", "serving_default/y"}) {
    const auto refused = RunAndWait(*model, {"regress_x2", inputs, {unknown}});
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument) << unknown;
  }
}

TEST(HostEngine, ComputesLinearModelsOfBothFormats) {
  const auto engine = MakeEngine();
  for (const auto& [name, add] :
       {std::pair{"half_plus_two_tf2", 2.0F}, {"half_plus_two_tf1", 2.0F}, {"half_plus_three_tf2", 3.0F}}) {
    const auto model = LoadOrFail(*engine, kModels / name / "1");
    ASSERT_NE(model, nullptr) << name;
    const auto& def = model->signatures().at("serving_default");
    const auto x = Tensor::Of<float>(
        def.inputs().begin()->second.tensor_shape().dim_size() > 1 ? tensor::Shape{3, 1} : tensor::Shape{3},
        {1.0F, 2.0F, 5.0F});
    const auto result = RunAndWait(*model, {"serving_default", {{def.inputs().begin()->first, x}}, {}});
    ASSERT_TRUE(result) << ToString(result.error());
    EXPECT_THAT(result->begin()->second.values<float>(), testing::ElementsAre(0.5F + add, 1.0F + add, 2.5F + add))
        << name;
  }
}

TEST(HostEngine, RecognisesMostDigitsInEveryVersion) {
  const auto engine = MakeEngine();
  std::ifstream labels(kModels / "digits" / "traffic_labels.txt");
  std::vector<int64_t> truth(std::istream_iterator<int64_t>(labels), {});
  for (const char* version : {"1", "2", "5"}) {
    const auto model = LoadOrFail(*engine, kModels / "digits" / version);
    ASSERT_NE(model, nullptr);
    const auto result = RunAndWait(*model, DigitsRequest(truth.size()));
    ASSERT_TRUE(result) << ToString(result.error());
    const auto found = result->at("label").values<int64_t>();
    size_t right = 0;
    for (size_t i = 0; i < truth.size(); ++i) right += found[i] == truth[i];
    EXPECT_GT(static_cast<double>(right) / static_cast<double>(truth.size()), 0.9) << version;
  }
}

TEST(HostEngine, AnswersNanForTheRowsForWhichTensorFlowDid) {
  const auto engine = MakeEngine();
  const auto model = LoadOrFail(*engine, kModels / "digits" / "4");
  ASSERT_NE(model, nullptr);
  std::ifstream file(kModels / "digits" / "traffic_nan.txt");
  const std::vector<int64_t> expected(std::istream_iterator<int64_t>(file), {});
  const auto result = RunAndWait(*model, DigitsRequest(597));
  ASSERT_TRUE(result) << ToString(result.error());
  std::vector<int64_t> nan_rows;
  const auto values = result->at("probabilities").values<float>();
  for (size_t i = 0; i < 597; ++i) {
    if (std::isnan(values[i * 10])) nan_rows.push_back(static_cast<int64_t>(i));
  }
  EXPECT_EQ(nan_rows, expected);
}

std::optional<NonFinite> FindNonFinite(LoadedModel& model, RunRequest request) {
  std::promise<Result<std::optional<NonFinite>>> promise;
  model.FindNonFinite(std::move(request), [&promise](auto found) { promise.set_value(std::move(found)); });
  const auto found = promise.get_future().get();
  EXPECT_TRUE(found);
  return found.value_or(std::nullopt);
}

TEST(HostEngine, NamesTheOpThatMadeTheFirstNan) {
  const auto engine = MakeEngine();
  const auto model = LoadOrFail(*engine, kModels / "digits" / "4");
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(FindNonFinite(*model, DigitsRequest(1)), std::nullopt);
  const auto found = FindNonFinite(*model, DigitsRequest(597));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->output, "probabilities");
  EXPECT_EQ(found->op, "RealDiv") << found->node;
}

TEST(HostEngine, SearchesForNanWithinTheMemoryLimitOfARun) {
  const auto engine = MakeEngine({.threads = 1, .run_bytes_max = 100});
  const auto model = LoadOrFail(*engine, kModels / "digits" / "4");
  ASSERT_NE(model, nullptr);
  std::promise<Code> promise;
  model->FindNonFinite(DigitsRequest(597),
                       [&promise](const auto& found) { promise.set_value(found ? Code::kOk : found.error().code); });
  EXPECT_EQ(promise.get_future().get(), Code::kResourceExhausted);
}

TEST(HostEngine, NamesTheInputIfTheRequestHadTheNan) {
  const auto engine = MakeEngine();
  const auto model = LoadOrFail(*engine, kModels / "half_plus_two_tf1" / "1");
  ASSERT_NE(model, nullptr);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto found = FindNonFinite(*model, {"serving_default", {{"x", Tensor::Of<float>({2}, {1, nan})}}, {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->op, "Placeholder");
  EXPECT_THAT(ToString(*found), testing::StartsWith("output \"y\", from the request's input \""));
}

TEST(HostEngine, AnswersARowTheSameInEveryBatchSize) {
  const auto engine = MakeEngine();
  const auto model = LoadOrFail(*engine, kModels / "digits" / "2");
  ASSERT_NE(model, nullptr);
  const auto all = RunAndWait(*model, DigitsRequest(7));
  const auto one = RunAndWait(*model, DigitsRequest(1));
  ASSERT_TRUE(all && one);
  const auto row = all->at("probabilities").Rows(0, 1).values<float>();
  EXPECT_THAT(one->at("probabilities").values<float>(), testing::ElementsAreArray(row.begin(), row.end()));
}

TEST(HostEngine, ComputesOnlyTheRequestedOutputs) {
  const auto engine = MakeEngine();
  const auto model = LoadOrFail(*engine, kModels / "digits" / "1");
  ASSERT_NE(model, nullptr);
  auto request = DigitsRequest(2);
  request.outputs = {"label"};
  const auto result = RunAndWait(*model, request);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->size(), 1U);
  EXPECT_EQ(result->at("label").shape(), (tensor::Shape{2}));
}

TEST(HostEngine, ComputesAShortRunOnTheCallersThreadOnlyIfTheRequestAllowsIt) {
  const auto engine = MakeEngine();
  const auto model = LoadOrFail(*engine, kModels / "half_plus_two_tf1" / "1");
  ASSERT_NE(model, nullptr);
  const auto runs_here = [&](Thread thread) {
    std::promise<std::thread::id> where;
    model->Run({"serving_default", {{"x", Tensor::Of<float>({1}, {1.0F})}}, {}, thread}, [&](const auto& outputs) {
      EXPECT_TRUE(outputs);
      where.set_value(std::this_thread::get_id());
    });
    return where.get_future().get() == std::this_thread::get_id();
  };
  EXPECT_FALSE(runs_here(Thread::kCallersIfShort)) << "the duration is not known yet";
  // Some runs may look long, because the thread was not scheduled for a while.
  int here = 0;
  for (int i = 0; i < 100; ++i) here += runs_here(Thread::kCallersIfShort) ? 1 : 0;
  EXPECT_GT(here, 0);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(runs_here(Thread::kEngines));
  EXPECT_TRUE(runs_here(Thread::kCallers));
}

TEST(HostEngine, ReportsTheDurationOfARunWithoutItsWaitForAThread) {
  const auto engine = MakeEngine({.threads = 1});
  const auto model = LoadOrFail(*engine, kModels / "half_plus_two_tf1" / "1");
  ASSERT_NE(model, nullptr);
  const RunRequest request{"serving_default", {{"x", Tensor::Of<float>({1}, {1.0F})}}, {}};
  std::promise<void> release;
  model->Run(request, [freed = release.get_future().share()](const auto&) { freed.wait(); });
  std::promise<Result<RunResult>> promise;
  model->Run(request, [&promise](auto result) { promise.set_value(std::move(result)); });
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(RunAndWait(*model, request));  // Takes far longer than one run.
  const auto free = std::chrono::steady_clock::now();
  release.set_value();
  const auto result = promise.get_future().get();
  ASSERT_TRUE(result);
  EXPECT_GT(result->took.count(), 0);
  EXPECT_LT(result->took, std::chrono::steady_clock::now() - free);
}

// TensorFlow answers feeds of these shapes; its session never compares them with the signature's [-1].
TEST(HostEngine, ComputesEveryShapeThatTheGraphAccepts) {
  const auto engine = MakeEngine();
  const auto model = LoadOrFail(*engine, kModels / "half_plus_two_tf1" / "1");
  ASSERT_NE(model, nullptr);
  for (const tensor::Shape& shape : {tensor::Shape{3}, {2, 2}, {}, {0}, {0, 1}, {2, 1}, {1, 1, 1, 1, 1, 1, 2}}) {
    std::vector<float> values, halves;
    for (int64_t i = 0; i < *tensor::ElementCount(shape); ++i) {
      values.push_back(static_cast<float>(i));
      halves.push_back(static_cast<float>(i) / 2 + 2);
    }
    const auto result = RunAndWait(*model, {"serving_default", {{"x", Tensor::Of<float>(shape, values)}}, {}});
    ASSERT_TRUE(result) << ToString(result.error());
    EXPECT_EQ(result->at("y").shape(), shape);
    EXPECT_THAT(result->at("y").values<float>(), testing::ElementsAreArray(halves));
  }
}

TEST(HostEngine, NamesTheOpThatRejectsAShape) {
  const auto engine = MakeEngine();
  const auto model = LoadOrFail(*engine, kModels / "digits" / "2");
  ASSERT_NE(model, nullptr);
  const auto error =
      RunAndWait(*model, {"serving_default", {{"image", Tensor::Of<float>({3}, {1, 2, 3})}}, {}}).error();
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_THAT(error.message, testing::AllOf(HasSubstr("op \"Conv2D\""), HasSubstr("node \"")));
}

// A copy of a model whose first graph was changed.
template <typename Change>
Path Changed(const char* model, const char* name, const Change& change) {
  Path dir = Path(testing::TempDir()) / name;
  std::filesystem::remove_all(dir);
  std::filesystem::copy(kModels / model / "1", dir, std::filesystem::copy_options::recursive);
  tensorflow::SavedModel saved;
  EXPECT_TRUE(saved.ParseFromString(*ReadFile(dir / "saved_model.pb")));
  change(saved.mutable_meta_graphs(0));
  EXPECT_TRUE(WriteFileAtomically(dir / "saved_model.pb", saved.SerializeAsString()));
  return dir;
}

// The texts and codes are those of TensorFlow's session.
TEST(HostEngine, RequiresTheTypeOfTheNodeAndNotOfTheSignature) {
  const auto engine = MakeEngine();
  const Path dir = Changed("half_plus_two_tf1", "other_type", [](tensorflow::MetaGraphDef* meta) {
    auto& inputs = *meta->mutable_signature_def()->at("serving_default").mutable_inputs();
    inputs["x"].set_dtype(tensorflow::DT_STRING);
  });
  const auto model = LoadOrFail(*engine, dir);
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(RunAndWait(*model, {"serving_default", {{"x", Tensor::Of<float>({1}, {1})}}, {}}));
  EXPECT_EQ(
      RunAndWait(*model, {"serving_default", {{"x", Tensor::Of<double>({1}, {1})}}, {}}).error(),
      (Error{Code::kInvalidArgument,
             "Expects arg[0] to be float but double is provided: input \"x\" must be of DT_FLOAT, not DT_DOUBLE"}));
}

TEST(HostEngine, NeedsAnAssetOnlyIfAnOpReadsIt) {
  const auto engine = MakeEngine();
  const Path unread = Changed("half_plus_two_tf1", "unread_asset", [](tensorflow::MetaGraphDef* meta) {
    auto* asset = meta->add_asset_file_def();
    asset->set_filename("missing.txt");
    asset->mutable_tensor_info()->set_name("x:0");
  });
  EXPECT_NE(LoadOrFail(*engine, unread), nullptr);
  const Path read = Changed("strings", "read_asset", [](tensorflow::MetaGraphDef* meta) {
    meta->mutable_asset_file_def(0)->set_filename("missing.txt");
  });
  const auto refused = engine->Load(read, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              testing::AllOf(HasSubstr("missing.txt"), HasSubstr("op \"InitializeTableFromTextFileV2\"")));
}

TEST(HostEngine, RejectsInputsWithWrongNamesOrTypes) {
  const auto engine = MakeEngine();
  const auto model = LoadOrFail(*engine, kModels / "digits" / "1");
  ASSERT_NE(model, nullptr);
  const auto error = [&](RunRequest request) { return RunAndWait(*model, std::move(request)).error(); };
  EXPECT_EQ(error({"nowhere", {}, {}}).code, Code::kNotFound);
  EXPECT_THAT(error({"serving_default", {}, {}}).message, HasSubstr("input \"image\" is missing"));
  EXPECT_THAT(error({"serving_default", {{"image", Tensor::Of<int32_t>({1}, {1})}}, {}}).message,
              HasSubstr("must be of DT_FLOAT"));
  auto unknown = DigitsRequest(1);
  unknown.outputs = {"colour"};
  EXPECT_THAT(error(unknown).message, HasSubstr("no output \"colour\""));
}

// The expected values are from TensorFlow.
TEST(HostEngine, LooksWordsUpInTheTableOfAnAsset) {
  const auto engine = MakeEngine();
  const auto model = LoadOrFail(*engine, kModels / "strings" / "1");
  ASSERT_NE(model, nullptr);
  const auto words = Tensor::Of<std::string>({4}, {"Three", "NINE", "nobody", ""});
  const auto result = RunAndWait(*model, {"serving_default", {{"word", words}}, {}});
  ASSERT_TRUE(result) << ToString(result.error());
  EXPECT_THAT(result->at("number").values<int64_t>(), testing::ElementsAre(3, 9, -1, -1));
  EXPECT_THAT(result->at("length").values<int32_t>(), testing::ElementsAre(5, 4, 6, 0));
  EXPECT_THAT(result->at("greeting").values<std::string>(),
              testing::ElementsAre("hello three", "hello nine", "hello nobody", "hello "));
}

TEST(HostEngine, DecodesRawBytesOfEqualLength) {
  const auto engine = MakeEngine();
  const auto bytes = LoadOrFail(*engine, kModels / "digits_bytes" / "1");
  ASSERT_NE(bytes, nullptr);
  const auto& inputs = bytes->signatures().at("serving_default").inputs();
  const auto result = RunAndWait(
      *bytes,
      {"serving_default", {{inputs.begin()->first, Tensor::Of<std::string>({1}, {std::string(64, '\x08')})}}, {}});
  EXPECT_TRUE(result) << ToString(result.error());
  const auto refused =
      RunAndWait(*bytes, {"serving_default", {{inputs.begin()->first, Tensor::Of<std::string>({1}, {"short"})}}, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
}

TEST(HostEngine, AnswersAnEmptyBatchWithAnEmptyBatch) {
  const auto engine = MakeEngine();
  const auto model = LoadOrFail(*engine, kModels / "digits" / "2");
  ASSERT_NE(model, nullptr);
  const auto result = RunAndWait(*model, DigitsRequest(0));
  ASSERT_TRUE(result) << ToString(result.error());
  EXPECT_EQ(result->at("probabilities").shape(), (tensor::Shape{0, 10}));
}

TEST(HostEngine, RunsOtherSignaturesIfOneHasASparseInput) {
  const Path dir = Path(testing::TempDir()) / "sparse_signature";
  std::filesystem::remove_all(dir);
  std::filesystem::copy(kModels / "half_plus_two_tf2" / "1", dir, std::filesystem::copy_options::recursive);
  tensorflow::SavedModel model;
  ASSERT_TRUE(model.ParseFromString(*ReadFile(dir / "saved_model.pb")));
  auto& signatures = *model.mutable_meta_graphs(0)->mutable_signature_def();
  (*signatures["sparse"].mutable_inputs())["x"].mutable_coo_sparse()->set_values_tensor_name("x:0");
  ASSERT_TRUE(WriteFileAtomically(dir / "saved_model.pb", model.SerializeAsString()));
  const auto engine = MakeEngine();
  const auto loaded = LoadOrFail(*engine, dir);
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(RunAndWait(*loaded, {"sparse", {}, {}}).error(),
            (Error{Code::kUnimplemented, "signature \"sparse\": input \"x\" is a sparse or composite tensor"}));
  const auto x = Tensor::Of<float>({1}, {2.0F});
  const auto& inputs = loaded->signatures().at("serving_default").inputs();
  EXPECT_TRUE(RunAndWait(*loaded, {"serving_default", {{inputs.begin()->first, x}}, {}}));
}

// The default value of the refused signature has a wrong type, so its invalid node does not fail the load.
TEST(HostEngine, DoesNotRunASignatureThatIsRefusedTogetherWithOthers) {
  const Path dir = Changed("examples_tf1", "refused_with_others", [](tensorflow::MetaGraphDef* meta) {
    auto* node = meta->mutable_graph_def()->add_node();
    node->set_name("without_input");
    node->set_op("Identity");
    auto& signature = (*meta->mutable_signature_def())["refused"];
    signature = meta->signature_def().at("regress_x2");
    signature.mutable_outputs()->at("outputs").set_name("without_input:0");
    (*signature.mutable_defaults())["inputs"].set_dtype(tensorflow::DT_FLOAT);
  });
  const auto engine = MakeEngine();
  const auto model = LoadOrFail(*engine, dir);
  ASSERT_NE(model, nullptr);
  const TensorMap inputs = {{"inputs", Tensor::Of<std::string>({1}, {ExampleOf(2, 4)})}};
  EXPECT_TRUE(RunAndWait(*model, {"regress_x2", inputs, {"regress_x2/outputs", "classify_x/scores"}}));
  const auto refused = RunAndWait(*model, {"regress_x2", inputs, {"classify_x/scores", "refused/outputs"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{Code::kInvalidArgument,
                                    "output tensor alias not found in signature: refused/outputs Outputs expected to "
                                    "be in the set {outputs}."}));
}

TEST(HostEngine, ReturnsAnExceptionInALoadAsAnError) {
  const auto engine =
      MakeEngine({.compiler = [](const LoadOptions&) -> MakeExecutable { throw std::length_error("too long"); }});
  const Path dir = kModels / "half_plus_two_tf2" / "1";
  EXPECT_EQ(engine->Load(dir, {}).error(),
            (Error{Code::kInternal, fmt::format("the load of {}: too long", dir.string())}));
}

// While an object exists, the process can allocate at most 64 MiB of address space more than it has.
class NoMoreMemory {
 public:
  NoMoreMemory() {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    const rlimit now{.rlim_cur = pages * static_cast<size_t>(getpagesize()) + (64 << 20), .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_AS, &now), 0);
  }
  ~NoMoreMemory() { setrlimit(RLIMIT_AS, &before_); }
  NoMoreMemory(const NoMoreMemory&) = delete;
  NoMoreMemory& operator=(const NoMoreMemory&) = delete;

 private:
  rlimit before_{};
};

TEST(HostEngine, EstimateFailsIfMemoryDoesNotSuffice) {
#ifdef LONGSHORE_SANITIZER
  GTEST_SKIP() << "the sanitizers abort a process when an allocation fails";
#endif
  const Path dir = Path(testing::TempDir()) / fmt::format("no_memory_{}", getpid());
  std::filesystem::create_directories(dir);
  ASSERT_TRUE(WriteFileAtomically(dir / "saved_model.pb", ""));
  std::filesystem::resize_file(dir / "saved_model.pb", 1 << 30);
  const auto engine = MakeEngine();
  const auto estimate = [&] {
    const NoMoreMemory no_more;
    return engine->EstimateLoad(dir, {});
  }();
  std::filesystem::remove_all(dir);
  ASSERT_FALSE(estimate);
  EXPECT_EQ(estimate.error(), (Error{Code::kResourceExhausted,
                                     fmt::format("memory does not suffice for the estimate of {}", dir.string())}));
}

TEST(HostEngine, RejectsMissingFilesAndTags) {
  const auto engine = MakeEngine();
  EXPECT_EQ(engine->Load(kModels / "digits", {}).error().code, Code::kNotFound);
  const auto tags = engine->Load(kModels / "digits" / "1", {.tags = {"train"}, .device = {}});
  ASSERT_FALSE(tags);
  EXPECT_THAT(tags.error().message, HasSubstr("it has [serve]"));
}

}  // namespace
}  // namespace longshore::engine::host
