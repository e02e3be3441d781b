#include "serving-node/models/recorded_request.h"

#include "serving-node/inference/inference.h"
#include "serving-node/inference/inputs.h"
#include "serving-node/inference/tasks.h"
#include "serving-node/tensor/proto.h"

namespace longshore::models {
namespace {

namespace tfs = tensorflow::serving;
using inference::Method;
using inference::SignatureName;
using inference::Signatures;

// Recorded requests come from a file of the model, which is trusted more than a client. Therefore their tensors may
// expand to as many bytes as constants of the graph.
Result<engine::RunRequest> ToRunRequest(const tfs::PredictRequest& request, const Signatures& signatures) {
  return inference::ToRunRequest(request, signatures, Budget().elements_max, tensor::kFilledBytesMaxForConstants);
}

Status CheckAnswer(Method method, const engine::TensorMap& outputs, int examples) {
  if (method == Method::kClassify) return inference::ToClassifications(outputs, examples).map([](const auto&) {});
  return inference::ToRegressions(outputs, examples).map([](const auto&) {});
}

Result<RecordedRequest> FromExamples(Method method, const tfs::ModelSpec& spec, const tfs::Input& input,
                                     const Signatures& signatures) {
  const auto signature = signatures.find(SignatureName(spec));
  if (signature == signatures.end()) {
    return InvalidArgument("No signature was found with the name: {}", SignatureName(spec));
  }
  ASSIGN_OR_RETURN(const tfs::PredictRequest request,
                   inference::ToPredict(method, {.spec = spec, .input = input, .signature = signature->second}));
  RecordedRequest recorded;
  ASSIGN_OR_RETURN(recorded.run, ToRunRequest(request, signatures));
  const int examples = inference::ExampleCount(input);
  recorded.check = [method, examples](const engine::TensorMap& outputs) {
    return CheckAnswer(method, outputs, examples);
  };
  return recorded;
}

Result<RecordedRequest> FromAllTasks(const tfs::MultiInferenceRequest& request, const tfs::PredictRequest& whole,
                                     const Signatures& signatures) {
  RecordedRequest recorded;
  ASSIGN_OR_RETURN(recorded.run, ToRunRequest(whole, signatures));
  recorded.check = [tasks = request.tasks(),
                    examples = inference::ExampleCount(request.input())](const engine::TensorMap& all) -> Status {
    for (const auto& task : tasks) {
      const engine::TensorMap outputs = inference::OutputsOfSignature(SignatureName(task.model_spec()), all);
      RETURN_IF_ERROR(CheckAnswer(*inference::MethodOf(task.method_name()), outputs, examples));
    }
    return {};
  };
  return recorded;
}

Result<std::vector<RecordedRequest>> AsVector(Result<RecordedRequest> one) {
  if (!one) return tl::make_unexpected(std::move(one.error()));
  return std::vector{std::move(*one)};
}

Result<std::vector<RecordedRequest>> FromTasks(const tfs::MultiInferenceRequest& request,
                                               const Signatures& signatures) {
  RETURN_IF_ERROR(inference::CheckTasks(request));
  ASSIGN_OR_RETURN(const auto whole, inference::ToOnePredict(request, signatures, false));
  if (whole) return AsVector(FromAllTasks(request, *whole, signatures));
  std::vector<RecordedRequest> all;
  for (const auto& task : request.tasks()) {
    ASSIGN_OR_RETURN(const Method method, inference::MethodOf(task.method_name()));
    ASSIGN_OR_RETURN(RecordedRequest one, FromExamples(method, task.model_spec(), request.input(), signatures));
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

Result<std::vector<RecordedRequest>> RecordedRequests(const tfs::PredictionLog& log, const Signatures& signatures) {
  switch (log.log_type_case()) {
    case tfs::PredictionLog::kPredictLog: {
      ASSIGN_OR_RETURN(engine::RunRequest run, ToRunRequest(log.predict_log().request(), signatures));
      return std::vector{RecordedRequest{std::move(run), [](const engine::TensorMap&) { return Status(); }}};
    }
    case tfs::PredictionLog::kClassifyLog: {
      const auto& request = log.classify_log().request();
      return AsVector(FromExamples(Method::kClassify, request.model_spec(), request.input(), signatures));
    }
    case tfs::PredictionLog::kRegressLog: {
      const auto& request = log.regress_log().request();
      return AsVector(FromExamples(Method::kRegress, request.model_spec(), request.input(), signatures));
    }
    case tfs::PredictionLog::kMultiInferenceLog: return FromTasks(log.multi_inference_log().request(), signatures);
    case tfs::PredictionLog::kSessionRunLog: return Unimplemented("Unsupported log_type for warmup: session_run_log");
    case tfs::PredictionLog::kPredictStreamedLog:
      return Unimplemented("Unsupported log_type for warmup: predict_streamed_log");
    case tfs::PredictionLog::LOG_TYPE_NOT_SET: return Unimplemented("Unsupported log_type for warmup: none");
  }
  return Unimplemented("Unsupported log_type for warmup");
}

}  // namespace longshore::models
