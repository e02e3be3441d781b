#include "serving-node/inference/tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::inference {
namespace {

using tensorflow::serving::MultiInferenceRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Tasks : public testing::Test {
 protected:
  Tasks() {
    Add("r", "outputs");
    Add("c", "scores");
  }
  void Add(const std::string& name, const std::string& output) {
    auto& input = (*all_[name].mutable_inputs())["inputs"];
    input.set_name("examples:0");
    input.set_dtype(tensorflow::DT_STRING);
    (*all_[name].mutable_outputs())[output].set_dtype(tensorflow::DT_FLOAT);
  }
  // Asks for a regression by `r` and classifications by the other signatures.
  Result<std::optional<Request>> Convert(const std::vector<std::string>& others) const {
    MultiInferenceRequest request;
    request.mutable_input()->mutable_example_list()->add_examples();
    const auto add = [&](const std::string& name, Method method) {
      auto& task = *request.add_tasks();
      task.mutable_model_spec()->set_name("m");
      task.mutable_model_spec()->set_signature_name(name);
      task.set_method_name(std::string(NameOf(method)));
    };
    add("r", Method::kRegress);
    for (const std::string& other : others) add(other, Method::kClassify);
    return ToOnePredict(request, all_, false);
  }
  // The error for a Predict to `r` for these outputs.
  std::string ErrorFor(std::vector<std::string> outputs) const {
    tensorflow::serving::ModelSpec spec;
    spec.set_signature_name("r");
    const Request request(spec, {{"inputs", tensor::Tensor::Of<std::string>({1}, {""})}}, std::move(outputs));
    const auto run = ToRunRequest(request, all_);
    return run ? "none" : run.error().message;
  }
  Signatures all_;
};

TEST_F(Tasks, BecomeARequestForTheOutputsOfAllSignatures) {
  const auto request = Convert({"c"});
  ASSERT_TRUE(request && *request);
  EXPECT_THAT((*request)->outputs(), ElementsAre("r/outputs", "c/scores"));
  EXPECT_TRUE(ToRunRequest(**request, all_));
}

TEST_F(Tasks, RunSeparatelyIfASignatureHasAnOutputThatIsNamedLikeOneOfSeveralSignatures) {
  (*all_["c"].mutable_outputs())["c/scores"].set_dtype(tensorflow::DT_FLOAT);
  const auto request = Convert({"c"});
  ASSERT_TRUE(request);
  EXPECT_FALSE(*request);
}

TEST_F(Tasks, AreAllCheckedAlsoIfTheyWillRunSeparately) {
  Add("alone", "scores");
  all_["alone"].mutable_inputs()->at("inputs").set_dtype(tensorflow::DT_INVALID);
  EXPECT_EQ(Convert({"alone", "none"}).error(),
            (Error{Code::kInvalidArgument, "No signature was found with the name: none"}));
  Add("not_of_classify", "sum");
  EXPECT_THAT(Convert({"alone", "not_of_classify"}).error().message, HasSubstr("sum"));
}

TEST_F(Tasks, OutputsAreEitherThoseOfOneSignatureOrThoseOfSeveral) {
  const auto refused = [](const char* name) {
    return fmt::format("output tensor alias not found in signature: {} Outputs expected to be in the set {{outputs}}.",
                       name);
  };
  EXPECT_EQ(ErrorFor({"outputs"}), "none");
  EXPECT_EQ(ErrorFor({"c/scores", "r/outputs"}), "none");
  EXPECT_EQ(ErrorFor({"outputs", "c/scores"}), refused("c/scores"));
  EXPECT_EQ(ErrorFor({"c/scores", "outputs"}), refused("c/scores"));
  EXPECT_EQ(ErrorFor({"c/scores", "c/outputs"}), refused("c/outputs"));
  EXPECT_EQ(ErrorFor({"c/scores", "c/scores"}), "duplicate output tensor alias: c/scores");
}

}  // namespace
}  // namespace longshore::inference
