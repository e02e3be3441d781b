// Parses the input as a ClassificationRequest and computes the classes with the model "examples_tf1", as the gRPC
// server does. Does the same for a RegressionRequest, which has the same fields. The context counts as received once
// more for each example, because it is copied into each (X3 in docs/contract.md).
#include "serving-node/inference/inference.h"
#include "serving-node/inference/inputs.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model.h"

const longshore::fuzz::Allowance longshore::fuzz::kAllowance = longshore::fuzz::kOfMessages;

namespace longshore::fuzz {
namespace {

Status Run(const tensorflow::serving::ClassificationRequest& request, inference::Method method) {
  static Model model("examples_tf1");
  const std::string name = method == inference::Method::kClassify ? "classify_x" : "regress_x";
  const auto found = model->signatures().find(name);
  CHECK(found != model->signatures().end());
  ASSIGN_OR_RETURN(auto predict,
                   inference::ToPredict(method, {request.model_spec(), request.input(), found->second, false}));
  predict.mutable_model_spec()->set_signature_name(name);
  ASSIGN_OR_RETURN(auto run, inference::ToRunRequest(predict, model->signatures()));
  ASSIGN_OR_RETURN(const auto outputs, engine::RunAndWait(*model, std::move(run)));
  const int count = inference::ExampleCount(request.input());
  if (method == inference::Method::kRegress) {
    ASSIGN_OR_RETURN(const auto values, inference::ToRegressions(outputs, count));
    CHECK(values.regressions_size() == count);
    return {};
  }
  ASSIGN_OR_RETURN(const auto classes, inference::ToClassifications(outputs, count));
  CHECK(classes.classifications_size() == count);
  return {};
}

}  // namespace
}  // namespace longshore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensorflow::serving::ClassificationRequest request;
  const bool is_request = request.ParseFromArray(data, static_cast<int>(size));
  longshore::fuzz::AddParsed(request.SpaceUsedLong());
  if (!is_request) return 0;
  const auto& list = request.input().example_list_with_context();
  longshore::fuzz::AddReceived(list.context().ByteSizeLong() * static_cast<size_t>(list.examples_size()));
  longshore::fuzz::Run(request, longshore::inference::Method::kClassify);
  longshore::fuzz::Run(request, longshore::inference::Method::kRegress);
  return 0;
}
