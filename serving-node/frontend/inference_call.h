// Implements Classify, Regress and MultiInference on top of Predict, so that routing, batching and evidence work in the
// same way for all of them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "serving-node/frontend/catalog.h"
#include "serving-node/inference/inference.h"
#include "serving-node/routing/predict.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::frontend {

// What a frontend knows about a call in addition to the call's message.
struct CallInfo {
  routing::Headers headers;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  routing::Protocol protocol = routing::Protocol::kGrpc;
  routing::Api api = routing::Api::kPredict;
  std::stop_token cancelled{};
  tracing::TracePtr trace{};  // As in PredictCall.
};

routing::PredictCall ToCall(CallInfo info, inference::Request request);

// Thread-safe and cheap to copy. The predictor and the catalog must outlive this object and its calls, but this object
// need not outlive its calls.
class InferenceCalls {
 public:
  // If check_method_names, a call is rejected if the signature's method_name is that of another method.
  InferenceCalls(routing::Predictor& predictor, const Catalog& catalog, bool check_method_names)
      : predictor_(predictor), catalog_(catalog), check_method_names_(check_method_names) {}

  // Each function calls `done` exactly once, on any thread, possibly before it returns. Errors have TensorFlow
  // Serving's texts.
  using ClassifyDone = std::function<void(Result<tensorflow::serving::ClassificationResponse>)>;
  void Classify(CallInfo info, tensorflow::serving::ClassificationRequest request, ClassifyDone done) const;

  using RegressDone = std::function<void(Result<tensorflow::serving::RegressionResponse>)>;
  void Regress(CallInfo info, tensorflow::serving::RegressionRequest request, RegressDone done) const;

  // All tasks are computed in one run of one version if their signatures can run together
  // (serving-node/engine/together.h). Otherwise they run one after the other, and the version that answers the first
  // task answers all.
  using MultiDone = std::function<void(Result<tensorflow::serving::MultiInferenceResponse>)>;
  void MultiInference(CallInfo info, tensorflow::serving::MultiInferenceRequest request, MultiDone done) const;

 private:
  struct Task;
  struct Series;
  template <typename Request, typename Response>
  void RunOne(inference::Method method, CallInfo info, Request request,
              std::function<void(Result<Response>)> done) const;
  void Run(std::shared_ptr<Task> task) const;
  static void Ask(const std::shared_ptr<Task>& task, const Result<Described>& described);
  static void RunTogether(const std::shared_ptr<Series>& series, const Result<Described>& described);
  static void FailOrRestart(const std::shared_ptr<Series>& series, const Error& error);
  static void RunNext(const std::shared_ptr<Series>& series);

  routing::Predictor& predictor_;
  const Catalog& catalog_;
  const bool check_method_names_;
};

}  // namespace longshore::frontend
