#include "serving-node/frontend/inference_call.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "serving-node/frontend/testing.h"

namespace longshore::frontend {
namespace {

using tensor::Tensor;
using tensorflow::serving::ClassificationRequest;
using tensorflow::serving::ClassificationResponse;
using tensorflow::serving::MultiInferenceRequest;
using tensorflow::serving::MultiInferenceResponse;
using tensorflow::serving::RegressionRequest;
using tensorflow::serving::RegressionResponse;
using ::testing::HasSubstr;

// A model with two signatures that take examples. Each call that names no version is answered by a version that is one
// higher than before.
class ExampleModel final : public Catalog, public routing::Predictor {
 public:
  ExampleModel() {
    auto& regress = (*signatures_)["serving_default"];
    (*regress.mutable_inputs())["inputs"].set_dtype(tensorflow::DT_STRING);
    (*regress.mutable_inputs())["inputs"].set_name("examples:0");
    (*regress.mutable_outputs())["outputs"].set_dtype(tensorflow::DT_FLOAT);
    regress.set_method_name("tensorflow/serving/regress");
    auto& classify = (*signatures_)["classes"];
    (*classify.mutable_inputs())["inputs"].set_dtype(tensorflow::DT_STRING);
    (*classify.mutable_inputs())["inputs"].set_name("examples:0");
    (*classify.mutable_outputs())["scores"].set_dtype(tensorflow::DT_FLOAT);
    classify.set_method_name("tensorflow/serving/classify");
  }

  Result<Described> Describe(const tensorflow::serving::ModelSpec& spec) const override {
    if (spec.name() != "m") return NotFound("Servable not found for request: Latest({})", spec.name());
    return Described{.version = 1, .signatures = signatures_};
  }
  Result<std::vector<models::VersionStatus>> Versions(const std::string&) const override { return {}; }

  void Predict(routing::PredictCall call, routing::PredictDone done) override {
    const auto& asked = call.request.model_spec();
    if (asked.has_version() && asked.version().value() == gone_) {
      return done(NotFound("Servable not found for request: Specific(m, {})", gone_));
    }
    if (is_old_ && !call.request.outputs().empty()) {
      return done(
          InvalidArgument("output tensor alias not found in signature: {} Outputs expected to be in the set {{}}.",
                          call.request.outputs().front()));
    }
    ++runs_;
    if (failure_) return done(tl::make_unexpected(*failure_));
    const int64_t rows = call.request.ReadInputs(1000, 1000)->at("inputs").elements();
    routing::PredictAnswer answer;
    answer.model_spec = call.request.model_spec();
    answer.model_spec.set_signature_name(inference::SignatureName(answer.model_spec));
    if (!answer.model_spec.has_version()) answer.model_spec.mutable_version()->set_value(++version_);
    const std::vector<float> values(static_cast<size_t>(rows), static_cast<float>(answer.model_spec.version().value()));
    const std::string own = call.request.model_spec().signature_name() == "classes" ? "scores" : "outputs";
    std::vector<std::string> names = call.request.outputs();
    if (names.empty()) names = {own};
    for (const std::string& name : names) {
      const bool scores = name.ends_with("scores");
      answer.outputs[name] = Tensor::Of<float>(scores ? tensor::Shape{rows, 1} : tensor::Shape{rows}, values);
    }
    headers_ = std::move(call.headers);
    done(std::move(answer));
  }
  // From now on, a signature states no type of its examples.
  void Separate() { (*(*signatures_)["classes"].mutable_inputs())["inputs"].set_dtype(tensorflow::DT_INVALID); }

  std::vector<std::pair<std::string, std::string>> headers_;
  int runs_ = 0;
  bool is_old_ = false;           // Calls for outputs of several signatures get the error of release 0.1.
  std::optional<Error> failure_;  // The error of all runs.
  int64_t gone_ = 0;              // Calls that name this version get an error, as if it had just been unloaded.

 private:
  std::shared_ptr<Signatures> signatures_ = std::make_shared<Signatures>();
  int64_t version_ = 6;
};

template <typename Message>
Message Read(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

const std::string kInput = "input { example_list { examples {} examples {} } } ";

class InferenceCallTest : public testing::Test {
 protected:
  Result<RegressionResponse> Regress(const std::string& text, bool check_names = false) {
    Result<RegressionResponse> answer = Internal("no answer came");
    InferenceCalls(model_, model_, check_names)
        .Regress({.headers = {{"user", "u1"}}}, Read<RegressionRequest>(text),
                 [&](auto given) { answer = std::move(given); });
    return answer;
  }
  Result<ClassificationResponse> Classify(const std::string& text) {
    Result<ClassificationResponse> answer = Internal("no answer came");
    InferenceCalls(model_, model_, true).Classify({}, Read<ClassificationRequest>(text), [&](auto given) {
      answer = std::move(given);
    });
    return answer;
  }
  Result<MultiInferenceResponse> Multi(const std::string& text) {
    Result<MultiInferenceResponse> answer = Internal("no answer came");
    InferenceCalls(model_, model_, false).MultiInference({}, Read<MultiInferenceRequest>(text), [&](auto given) {
      answer = std::move(given);
    });
    return answer;
  }

  ExampleModel model_;
};

TEST_F(InferenceCallTest, AnswersEveryExampleWithTheVersionThatPredictChose) {
  const auto answer = Regress("model_spec { name: 'm' } " + kInput);
  ASSERT_TRUE(answer) << ToString(answer.error());
  EXPECT_EQ(answer->result().regressions_size(), 2);
  EXPECT_EQ(answer->model_spec().version().value(), 7);
  EXPECT_EQ(model_.headers_.at(0).second, "u1");
  const auto classes = Classify("model_spec { name: 'm' signature_name: 'classes' } " + kInput);
  ASSERT_TRUE(classes) << ToString(classes.error());
  EXPECT_EQ(classes->result().classifications(1).classes(0).score(), 8);
}

TEST_F(InferenceCallTest, HasTheErrorTextsOfTensorFlowServing) {
  EXPECT_EQ(Regress("").error(), (Error{Code::kInvalidArgument, "Missing ModelSpec"}));
  EXPECT_EQ(Regress("model_spec {}").error(), (Error{Code::kInvalidArgument, "ModelSpec has no name specified."}));
  EXPECT_EQ(Regress("model_spec { name: 'n' }").error().code, Code::kNotFound);
  EXPECT_EQ(Regress("model_spec { name: 'm' signature_name: 's' } " + kInput).error(),
            (Error{Code::kInvalidArgument, "No signature was found with the name: s"}));
  EXPECT_EQ(Regress("model_spec { name: 'm' }").error(), (Error{Code::kInvalidArgument, "Input is empty."}));
  EXPECT_THAT(Classify("model_spec { name: 'm' } " + kInput).error().message, HasSubstr("tensorflow/serving/classify"));
}

const std::string kTwoTasks =
    "tasks { model_spec { name: 'm' } method_name: 'tensorflow/serving/regress' }"
    "tasks { model_spec { name: 'm' signature_name: 'classes' } method_name: 'tensorflow/serving/classify' }" +
    kInput;

void ExpectTwoResultsOf(int64_t version, const Result<MultiInferenceResponse>& answer) {
  ASSERT_TRUE(answer) << ToString(answer.error());
  ASSERT_EQ(answer->results_size(), 2);
  const auto& [first, second] = std::pair(answer->results(0), answer->results(1));
  EXPECT_EQ(first.regression_result().regressions_size(), 2);
  EXPECT_EQ(first.regression_result().regressions(0).value(), version);
  EXPECT_EQ(first.model_spec().signature_name(), "serving_default");
  EXPECT_EQ(second.classification_result().classifications(0).classes(0).score(), version);
  EXPECT_EQ(second.model_spec().signature_name(), "classes");
  EXPECT_EQ(second.model_spec().version().value(), version);
}

TEST_F(InferenceCallTest, RunsTasksTogether) {
  ExpectTwoResultsOf(7, Multi(kTwoTasks));
  EXPECT_EQ(model_.runs_, 1);
}

TEST_F(InferenceCallTest, RunsTasksThatAreNotOfExamplesOneAfterTheOtherWithOneVersion) {
  model_.Separate();
  ExpectTwoResultsOf(7, Multi(kTwoTasks));
  EXPECT_EQ(model_.runs_, 2);
}

TEST_F(InferenceCallTest, RunsTasksOneAfterTheOtherIfTheNodeThatRunsThemCannotRunThemTogether) {
  model_.is_old_ = true;
  ExpectTwoResultsOf(7, Multi(kTwoTasks));
  EXPECT_EQ(model_.runs_, 2);
}

TEST_F(InferenceCallTest, ARunOfAllTasksThatFailsIsNotRepeated) {
  for (const Code code : {Code::kInvalidArgument, Code::kResourceExhausted}) {
    model_.runs_ = 0;
    model_.failure_ = Error{code, "Could not parse example input"};
    EXPECT_EQ(Multi(kTwoTasks).error(), *model_.failure_);
    EXPECT_EQ(model_.runs_, 1) << ToString(*model_.failure_);
  }
}

TEST_F(InferenceCallTest, StartsAgainIfTheVersionIsUnloadedBetweenTwoTasks) {
  model_.Separate();
  model_.gone_ = 7;
  const auto answer = Multi(kTwoTasks);
  ASSERT_TRUE(answer) << ToString(answer.error());
  ASSERT_EQ(answer->results_size(), 2);
  EXPECT_EQ(answer->results(0).regression_result().regressions(0).value(), 8);
  EXPECT_EQ(answer->results(1).classification_result().classifications(0).classes(0).score(), 8);
}

TEST_F(InferenceCallTest, AFailingTaskFailsAllTasks) {
  const auto answer = Multi(
      "tasks { model_spec { name: 'm' } method_name: 'tensorflow/serving/regress' }"
      "tasks { model_spec { name: 'm' signature_name: 'none' } method_name: 'tensorflow/serving/regress' }" +
      kInput);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("none"));
}

}  // namespace
}  // namespace longshore::frontend
