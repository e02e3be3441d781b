#include "serving-node/inference/inference.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace longshore::inference {
namespace {

using tensor::Tensor;
using tensorflow::serving::Input;
using ::testing::HasSubstr;

template <typename Message>
Message Read(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

const char* const kClassifySignature =
    "inputs { key: 'inputs' value { dtype: DT_STRING } } outputs { key: 'classes' value { dtype: DT_STRING } }"
    "outputs { key: 'scores' value { dtype: DT_FLOAT } } method_name: 'tensorflow/serving/classify'";
const char* const kTwoExamples =
    "example_list { examples { features { feature { key: 'x' value { float_list { value: 1 } } } } } examples {} }";

Result<Request> Predict(Method method, const std::string& signature, const std::string& input,
                        bool check_name = false) {
  tensorflow::serving::ModelSpec spec;
  spec.set_name("m");
  return ToPredict(method, {.spec = spec,
                            .input = Read<Input>(input),
                            .signature = Read<tensorflow::SignatureDef>(signature),
                            .check_name = check_name});
}

template <typename T>
std::string ErrorOf(const Result<T>& result) {
  return result ? "no error" : ToString(result.error());
}

TEST(Inference, ConvertsEachExampleToOneRowOfTheOnlyInput) {
  const auto request = Predict(Method::kClassify, kClassifySignature, kTwoExamples);
  ASSERT_TRUE(request) << ToString(request.error());
  const auto inputs = request->ReadInputs(2, 0);
  ASSERT_TRUE(inputs);
  const Tensor& rows = inputs->at("inputs");
  ASSERT_EQ(rows.shape(), tensor::Shape{2});
  tensorflow::Example first;
  ASSERT_TRUE(first.ParseFromString(rows.values<std::string>()[0]));
  EXPECT_EQ(first.features().feature().at("x").float_list().value(0), 1);
  EXPECT_EQ(rows.values<std::string>()[1], "");
}

TEST(Inference, LimitsTheBytesOfRepeatedContexts) {
  const auto with_examples = [](int count) {
    Input input;
    (*input.mutable_example_list_with_context()->mutable_context()->mutable_features()->mutable_feature())["c"]
        .mutable_bytes_list()
        ->add_value(std::string(size_t{1} << 20, 'c'));
    for (int i = 0; i < count; ++i) input.mutable_example_list_with_context()->add_examples();
    return ToPredict(Method::kClassify,
                     {.spec = {}, .input = input, .signature = Read<tensorflow::SignatureDef>(kClassifySignature)});
  };
  EXPECT_TRUE(with_examples(2));
  EXPECT_EQ(ErrorOf(with_examples(64)),
            "RESOURCE_EXHAUSTED: a context of 1048599 bytes, copied into each of 64 examples, exceeds 67108864 bytes");
}

TEST(Inference, AddsTheFeaturesOfTheContextThatAnExampleLacks) {
  const auto request = Predict(Method::kClassify, kClassifySignature,
                               "example_list_with_context {"
                               "  context { features { feature { key: 'x' value { float_list { value: 5 } } }"
                               "                       feature { key: 'c' value { int64_list { value: 7 } } } } }"
                               "  examples { features { feature { key: 'x' value { float_list { value: 1 } } } } } }");
  ASSERT_TRUE(request) << ToString(request.error());
  tensorflow::Example merged;
  ASSERT_TRUE(merged.ParseFromString(request->ReadInputs(1, 0)->at("inputs").values<std::string>()[0]));
  EXPECT_EQ(merged.features().feature().at("x").float_list().value(0), 1);
  EXPECT_EQ(merged.features().feature().at("c").int64_list().value(0), 7);
}

TEST(Inference, RefusesInputsAndSignaturesThatTheMethodCannotUse) {
  EXPECT_THAT(ErrorOf(Predict(Method::kClassify, kClassifySignature, "")), HasSubstr("Input is empty."));
  EXPECT_THAT(ErrorOf(Predict(Method::kClassify, "", kTwoExamples)), HasSubstr("Expected one input Tensor."));
  EXPECT_THAT(ErrorOf(Predict(Method::kRegress, kClassifySignature, kTwoExamples)), HasSubstr("\"outputs\""));
  EXPECT_THAT(ErrorOf(Predict(Method::kClassify, "inputs { key: 'x' }", kTwoExamples)), HasSubstr("\"x\""));
  EXPECT_THAT(ErrorOf(Predict(Method::kClassify, "inputs { key: 'inputs' } outputs { key: 'y' }", kTwoExamples)),
              HasSubstr("\"classes\" or \"scores\". Signature was: y"));
}

TEST(Inference, ChecksTheMethodNameOnlyIfRequested) {
  const std::string other =
      "inputs { key: 'inputs' } outputs { key: 'outputs' } method_name: 'tensorflow/serving/predict'";
  EXPECT_TRUE(Predict(Method::kRegress, other, kTwoExamples));
  EXPECT_THAT(ErrorOf(Predict(Method::kRegress, other, kTwoExamples, true)), HasSubstr("tensorflow/serving/regress"));
}

TEST(Classifications, HaveTheLabelAndScoreOfEachClass) {
  const auto result = ToClassifications({{"classes", Tensor::Of<std::string>({2, 2}, {"a", "b", "c", "d"})},
                                         {"scores", Tensor::Of<float>({2, 2}, {0.1f, 0.9f, 0.5f, 0.25f})}},
                                        2);
  ASSERT_TRUE(result) << ToString(result.error());
  EXPECT_EQ(result->classifications(1).classes(0).label(), "c");
  EXPECT_EQ(result->classifications(1).classes(1).score(), 0.25f);
}

TEST(Classifications, MayLackLabelsOrScores) {
  const auto scores = ToClassifications({{"scores", Tensor::Of<float>({1, 2}, {0.1f, 0.9f})}}, 1);
  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->classifications(0).classes(1).label(), "");
  const auto labels = ToClassifications({{"classes", Tensor::Of<std::string>({1, 1}, {"a"})}}, 1);
  ASSERT_TRUE(labels);
  EXPECT_EQ(labels->classifications(0).classes(0).score(), 0);
}

TEST(Classifications, RefuseOtherTypesAndShapes) {
  const auto of = [](engine::TensorMap outputs) { return ErrorOf(ToClassifications(outputs, 2)); };
  EXPECT_THAT(of({}), HasSubstr("neither"));
  EXPECT_THAT(of({{"scores", Tensor::Of<float>({2}, {1, 2})}}), HasSubstr("[batch_size num_classes]"));
  EXPECT_THAT(of({{"scores", Tensor::Of<double>({2, 1}, {1, 2})}}), HasSubstr("DT_DOUBLE"));
  EXPECT_THAT(of({{"scores", Tensor::Of<float>({1, 2}, {1, 2})}}), HasSubstr("batch size of 2. Got: 1"));
  EXPECT_THAT(of({{"scores", Tensor::Of<float>({2, 1}, {1, 2})},
                  {"classes", Tensor::Of<std::string>({2, 2}, {"a", "b", "c", "d"})}}),
              HasSubstr("Got 2 vs. 1"));
}

TEST(Regressions, HaveOneValueForEachExample) {
  for (const tensor::Shape& shape : {tensor::Shape{2}, tensor::Shape{2, 1}}) {
    const auto result = ToRegressions({{"outputs", Tensor::Of<float>(shape, {3, 4})}}, 2);
    ASSERT_TRUE(result) << ToString(result.error());
    EXPECT_EQ(result->regressions(1).value(), 4);
  }
  EXPECT_THAT(ErrorOf(ToRegressions({{"outputs", Tensor::Of<float>({1, 2}, {3, 4})}}, 1)), HasSubstr("[1,2]"));
  EXPECT_THAT(ErrorOf(ToRegressions({{"outputs", Tensor::Of<float>({3}, {3, 4, 5})}}, 2)), HasSubstr("Got: 3"));
}

TEST(MultiInference, AllowsOneModelAndEachSignatureOnce) {
  const auto check = [](const std::string& text) {
    const Status status = CheckTasks(Read<tensorflow::serving::MultiInferenceRequest>(text));
    return status ? std::string() : ToString(status.error());
  };
  const auto task = [](const std::string& spec, const std::string& method = "tensorflow/serving/regress") {
    return "tasks { model_spec { " + spec + " } method_name: '" + method + "' } ";
  };
  EXPECT_EQ(check(task("name: 'm' signature_name: 'a'") + task("name: 'm' signature_name: 'b'")), "");
  EXPECT_THAT(check(task("name: 'm'") + task("name: 'n'")), HasSubstr("same model name"));
  EXPECT_THAT(check(task("name: 'm'") + task("name: 'm' signature_name: 'serving_default'")), HasSubstr("Duplicate"));
  EXPECT_THAT(check(task("name: 'm' version { value: 1 }") + task("name: 'm' signature_name: 'b'")),
              HasSubstr("same version"));
  EXPECT_THAT(check(task("name: 'm'", "tensorflow/serving/predict")), HasSubstr("UNIMPLEMENTED"));
  EXPECT_THAT(check(task("")), HasSubstr("empty model name"));
  EXPECT_NE(check(""), "");
}

}  // namespace
}  // namespace longshore::inference
