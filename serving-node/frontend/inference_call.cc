#include "serving-node/frontend/inference_call.h"

#include <memory>

#include "serving-node/engine/together.h"
#include "serving-node/frontend/queries.h"
#include "serving-node/inference/tasks.h"

namespace longshore::frontend {

using inference::Method;
using tensorflow::serving::InferenceResult;
using tensorflow::serving::ModelSpec;
using tensorflow::serving::MultiInferenceRequest;
using tensorflow::serving::MultiInferenceResponse;

// One Classify or Regress, which may be a task of a MultiInference.
struct InferenceCalls::Task {
  routing::Predictor& predictor;
  bool check_method_name;
  Method method;
  CallInfo info;
  ModelSpec spec;
  tensorflow::serving::Input input;
  std::function<void(Result<InferenceResult>)> done;
};

// The tasks of a MultiInference.
struct InferenceCalls::Series {
  InferenceCalls calls;
  CallInfo info;
  MultiInferenceRequest request;
  MultiInferenceResponse response;
  MultiDone done;
  bool restarted = false;
};

namespace {

Result<InferenceResult> ToResult(Method method, int examples, ModelSpec answered, const engine::TensorMap& outputs) {
  InferenceResult result;
  *result.mutable_model_spec() = std::move(answered);
  if (method == Method::kClassify) {
    ASSIGN_OR_RETURN(*result.mutable_classification_result(), inference::ToClassifications(outputs, examples));
  } else {
    ASSIGN_OR_RETURN(*result.mutable_regression_result(), inference::ToRegressions(outputs, examples));
  }
  return result;
}

Result<InferenceResult> ToResult(Method method, int examples, routing::PredictAnswer answer) {
  ModelSpec answered = std::move(answer.model_spec);
  ASSIGN_OR_RETURN(const engine::TensorMap outputs, OutputsOf(std::move(answer)));
  return ToResult(method, examples, std::move(answered), outputs);
}

// Divides the answer of a run of all tasks.
Result<MultiInferenceResponse> ToResults(const MultiInferenceRequest& request, routing::PredictAnswer answer) {
  ModelSpec answered = answer.model_spec;
  ASSIGN_OR_RETURN(const engine::TensorMap all, OutputsOf(std::move(answer)));
  MultiInferenceResponse response;
  for (const auto& task : request.tasks()) {
    answered.set_signature_name(inference::SignatureName(task.model_spec()));
    const engine::TensorMap outputs = inference::OutputsOfSignature(answered.signature_name(), all);
    const int examples = inference::ExampleCount(request.input());
    ASSIGN_OR_RETURN(*response.add_results(),
                     ToResult(*inference::MethodOf(task.method_name()), examples, answered, outputs));
  }
  return response;
}

// Whether the node that ran the tasks cannot run them together: it is of release 0.1, or the signatures of its version
// cannot be merged. Such a request is refused before it runs.
bool MustRunSeparately(const Error& error) {
  return error.code == Code::kInvalidArgument && error.message.starts_with(engine::kNoSuchOutput);
}

void MoveResult(InferenceResult* from, tensorflow::serving::ClassificationResponse* to) {
  *to->mutable_result() = std::move(*from->mutable_classification_result());
}

void MoveResult(InferenceResult* from, tensorflow::serving::RegressionResponse* to) {
  *to->mutable_result() = std::move(*from->mutable_regression_result());
}

}  // namespace

routing::PredictCall ToCall(CallInfo info, inference::Request request) {
  return {.request = std::move(request),
          .headers = std::move(info.headers),
          .deadline = info.deadline,
          .protocol = info.protocol,
          .api = info.api,
          .cancelled = std::move(info.cancelled),
          .trace = std::move(info.trace)};
}

void InferenceCalls::Run(std::shared_ptr<Task> task) const {
  const auto deadline = task->info.deadline;
  DescribeAnywhere(catalog_, task->spec, deadline,
                   [task](const Result<Described>& described) { Ask(task, described); });
}

void InferenceCalls::Ask(const std::shared_ptr<Task>& task, const Result<Described>& described) {
  if (!described) return task->done(tl::make_unexpected(described.error()));
  const auto signature = inference::SignatureOf(*described->signatures, task->spec);
  if (!signature) return task->done(tl::make_unexpected(signature.error()));
  auto request = inference::ToPredict(
      task->method,
      {.spec = task->spec, .input = task->input, .signature = **signature, .check_name = task->check_method_name});
  if (!request) return task->done(tl::make_unexpected(request.error()));
  auto call = ToCall(std::move(task->info), std::move(*request));
  const int examples = inference::ExampleCount(task->input);
  task->predictor.Predict(std::move(call), [task, examples](Result<routing::PredictAnswer> answer) {
    if (!answer) return task->done(tl::make_unexpected(answer.error()));
    task->done(ToResult(task->method, examples, std::move(*answer)));
  });
}

template <typename Request, typename Response>
void InferenceCalls::RunOne(Method method, CallInfo info, Request request,
                            std::function<void(Result<Response>)> done) const {
  if (auto spec = routing::CheckModelSpec(request); !spec) return done(tl::make_unexpected(spec.error()));
  auto finish = [done = std::move(done)](Result<InferenceResult> result) {
    if (!result) return done(tl::make_unexpected(result.error()));
    Response response;
    *response.mutable_model_spec() = std::move(*result->mutable_model_spec());
    MoveResult(&*result, &response);
    done(std::move(response));
  };
  Run(std::make_shared<Task>(Task{predictor_, check_method_names_, method, std::move(info),
                                  std::move(*request.mutable_model_spec()), std::move(*request.mutable_input()),
                                  std::move(finish)}));
}

void InferenceCalls::Classify(CallInfo info, tensorflow::serving::ClassificationRequest request,
                              ClassifyDone done) const {
  info.api = routing::Api::kClassify;
  RunOne(Method::kClassify, std::move(info), std::move(request), std::move(done));
}

void InferenceCalls::Regress(CallInfo info, tensorflow::serving::RegressionRequest request, RegressDone done) const {
  info.api = routing::Api::kRegress;
  RunOne(Method::kRegress, std::move(info), std::move(request), std::move(done));
}

void InferenceCalls::MultiInference(CallInfo info, tensorflow::serving::MultiInferenceRequest request,
                                    MultiDone done) const {
  if (auto tasks = inference::CheckTasks(request); !tasks) return done(tl::make_unexpected(tasks.error()));
  info.api = routing::Api::kMultiInference;
  const auto series = std::make_shared<Series>(Series{*this, std::move(info), std::move(request), {}, std::move(done)});
  DescribeAnywhere(catalog_, series->request.tasks(0).model_spec(), series->info.deadline,
                   [series](const Result<Described>& described) { RunTogether(series, described); });
}

// Other errors end the MultiInference, because its tasks would run again: a wrong example would be wrong again, and
// ResourceExhausted usually means that the node has too much work already.
void InferenceCalls::RunTogether(const std::shared_ptr<Series>& series, const Result<Described>& described) {
  if (!described) return series->done(tl::make_unexpected(described.error()));
  auto whole = inference::ToOnePredict(series->request, *described->signatures, series->calls.check_method_names_);
  if (!whole) return series->done(tl::make_unexpected(whole.error()));
  if (!*whole) return RunNext(series);
  series->calls.predictor_.Predict(ToCall(series->info, std::move(**whole)),
                                   [series](Result<routing::PredictAnswer> answer) {
                                     if (answer) return series->done(ToResults(series->request, std::move(*answer)));
                                     if (MustRunSeparately(answer.error())) return RunNext(series);
                                     series->done(tl::make_unexpected(answer.error()));
                                   });
}

// Ends the MultiInference with the error, or runs all tasks once more: the version that answered the first task may
// have been unloaded before a later task ran.
void InferenceCalls::FailOrRestart(const std::shared_ptr<Series>& series, const Error& error) {
  const bool may_be_unloaded = error.code == Code::kNotFound || error.code == Code::kUnavailable;
  const bool is_chosen_here =
      series->response.results_size() > 0 && !series->request.tasks(0).model_spec().has_version();
  if (!may_be_unloaded || !is_chosen_here || series->restarted) return series->done(tl::make_unexpected(error));
  series->restarted = true;
  series->response.Clear();
  RunNext(series);
}

void InferenceCalls::RunNext(const std::shared_ptr<Series>& series) {
  const InferenceCalls& calls = series->calls;
  const int next = series->response.results_size();
  if (next == series->request.tasks_size()) return series->done(std::move(series->response));
  const auto& asked = series->request.tasks(next);
  ModelSpec spec = asked.model_spec();
  if (next > 0) *spec.mutable_version() = series->response.results(0).model_spec().version();
  Task task{calls.predictor_,
            calls.check_method_names_,
            *inference::MethodOf(asked.method_name()),
            series->info,
            std::move(spec),
            series->request.input(),
            [series](Result<InferenceResult> result) {
              if (!result) return FailOrRestart(series, result.error());
              *series->response.add_results() = std::move(*result);
              RunNext(series);
            }};
  calls.Run(std::make_shared<Task>(std::move(task)));
}

}  // namespace longshore::frontend
