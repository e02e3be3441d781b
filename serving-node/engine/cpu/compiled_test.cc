// Programs against what TensorFlow answered, op by op, and against the plan that they stand for, model by model.
#include "serving-node/engine/cpu/compiled.h"

#include <gtest/gtest.h>

#include "serving-node/engine/cpu/cpu.h"
#include "serving-node/engine/reference/differences.h"
#include "serving-node/engine/reference/reference.h"

namespace longshore::engine::cpu {
namespace {

namespace reference = engine::reference;

std::string Judge(const Json& json) {
  const reference::OneOp one(json);
  const auto plan = one.MakePlan();
  if (!plan) return json.contains("error") ? "" : ToString(plan.error());
  Resources resources;
  const Compiled compiled(*plan, 1);
  const auto answer = compiled.Run(one.fed, {}, resources, SIZE_MAX, {});
  if (json.contains("error"))
    return answer ? fmt::format("an answer instead of: {}", json.at("error").get<std::string>()) : "";
  return answer ? reference::FirstDifferenceOfAll(*answer, json.at("outputs")) : ToString(answer.error());
}

TEST(Compiled, AnswersEveryOpAsTensorFlowDoes) {
  for (const auto& json : reference::OpCases()) {
    EXPECT_EQ(Judge(json), "") << json.at("at") << ": " << json.at("op") << " " << json.at("attributes");
  }
}

// x: [2, 3] with a NaN in its second row; MatMul, BiasAdd and the activation become one step. A Relu in a step of
// oneDNN makes zero of NaN, in TensorFlow too.
TEST(Compiled, WhatIsDrawnInHidesNoNan) {
  for (const char* activation : {"Elu", "LeakyRelu", "Sigmoid", "Tanh"}) {
    tensorflow::GraphDef def;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(fmt::format(R"(
      node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} }}
      node {{ name: "w" op: "Const" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
        attr {{ key: "value" value {{ tensor {{ dtype: DT_FLOAT tensor_shape {{ dim {{ size: 3 }} dim {{ size: 2 }} }}
          float_val: [1, 2, 3, 4, 5, 6] }} }} }} }}
      node {{ name: "b" op: "Const" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
        attr {{ key: "value" value {{ tensor {{ dtype: DT_FLOAT tensor_shape {{ dim {{ size: 2 }} }}
          float_val: [1, -1] }} }} }} }}
      node {{ name: "product" op: "MatMul" input: "x" input: "w" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }}
      node {{ name: "biased" op: "BiasAdd" input: "product" input: "b" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }}
      node {{ name: "y" op: "{}" input: "biased" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }})",
                                                                          activation),
                                                              &def));
    auto graph = graph::Build(def, {.feeds = {"x"}, .outputs = {"y"}, .targets = {}});
    ASSERT_TRUE(graph) << ToString(graph.error());
    Resources resources;
    const auto plan = reference::Plan::Make(std::move(*graph), {.fold = true, .fold_variables = true}, resources);
    ASSERT_TRUE(plan) << ToString(plan.error());
    const Compiled compiled(*plan, 1);
    const auto nan = std::numeric_limits<float>::quiet_NaN();
    const auto answer =
        compiled.Run({{"x", Tensor::Of<float>({2, 3}, {1, 1, 1, 1, nan, 1})}}, {}, resources, SIZE_MAX, {});
    ASSERT_TRUE(answer) << ToString(answer.error());
    const auto values = (*answer)[0].values<float>();
    EXPECT_TRUE(std::isfinite(values[0]) && std::isfinite(values[1])) << activation;
    EXPECT_TRUE(std::isnan(values[2]) && std::isnan(values[3])) << activation;
  }
}

std::shared_ptr<LoadedModel> Load(Engine& engine, const std::string& model) {
  auto loaded = engine.Load(Path(LONGSHORE_SOURCE_DIR) / "tests" / "models" / model, {});
  EXPECT_TRUE(loaded) << ToString(loaded.error());
  return loaded.value_or(nullptr);
}

RunRequest Images(int64_t count) {
  std::vector<float> pixels(static_cast<size_t>(count) * 64);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i * 37 % 17) / 16.0F;
  return {.signature = "serving_default",
          .inputs = {{"image", Tensor::Of<float>({count, 8, 8, 1}, pixels)}},
          .outputs = {}};
}

TEST(CpuEngine, AnswersAsTheReferenceDoes) {
  const auto cpu = MakeCpuEngine({.runs = 1});
  const auto plain = MakeReferenceEngine({.threads = 1});
  for (const char* version : {"digits/1", "digits/2", "digits/5"}) {
    const auto fast = Load(*cpu, version), slow = Load(*plain, version);
    for (const int64_t batch : {1, 8, 3}) {
      const auto given = RunAndWait(*fast, Images(batch)), wanted = RunAndWait(*slow, Images(batch));
      ASSERT_TRUE(given && wanted) << ToString(given.error());
      const auto a = given->at("probabilities").values<float>(), b = wanted->at("probabilities").values<float>();
      for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << version << " at " << i;
      const auto labels = given->at("label").values<int64_t>(), right = wanted->at("label").values<int64_t>();
      EXPECT_TRUE(std::ranges::equal(labels, right));
    }
  }
}

// The tenth image of any batch is the same image.
TEST(CpuEngine, ARowIsTheSameBitsWhateverItsNeighboursAndItsPlace) {
  const auto engine = MakeCpuEngine({.runs = 1, .threads_per_run = 2});
  const auto model = Load(*engine, "digits/2");
  RunRequest all = Images(32);
  const auto whole = RunAndWait(*model, all);
  ASSERT_TRUE(whole);
  for (const size_t place : {0U, 1U, 7U, 31U}) {
    RunRequest moved = Images(32);
    auto pixels = moved.inputs.at("image").mutable_values<float>();
    std::ranges::fill(pixels, 0.25F);
    const auto image = all.inputs.at("image").values<float>().subspan(10 * 64, 64);
    std::ranges::copy(image, pixels.begin() + static_cast<std::ptrdiff_t>(place * 64));
    const auto answer = RunAndWait(*model, moved);
    ASSERT_TRUE(answer);
    const auto given = answer->at("probabilities").values<float>().subspan(place * 10, 10);
    EXPECT_TRUE(std::ranges::equal(given, whole->at("probabilities").values<float>().subspan(100, 10))) << place;
  }
}

}  // namespace
}  // namespace longshore::engine::cpu
