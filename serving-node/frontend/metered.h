// Counts and times every request to a model, including refused ones, and begins and ends its trace. The metrics have
// Longshore's names and also TensorFlow Serving's; docs/metrics.md lists them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/metrics/metrics.h"
#include "serving-node/routing/predict.h"
#include "serving-node/tracing/tracer.h"

namespace longshore::frontend {

class RequestMeter;

// One request, from its arrival to its answer. An object made by the default constructor counts nothing.
class MeteredRequest {
 public:
  MeteredRequest() = default;

  // Sets the model, if it was not known when the request arrived.
  void SetModel(const std::string& model) { model_ = model; }
  // Sets the number of tf.Examples, for calls that have them.
  void SetExamples(int64_t examples) { examples_ = examples; }

  // The trace of the request; null if the node exports no traces.
  const tracing::TracePtr& trace() const { return trace_; }

  // Records the result that the client sees; call it once. `answered` is the model spec of the answer.
  void End(Code code, const tensorflow::serving::ModelSpec& answered) const;

 private:
  friend class RequestMeter;
  void EndTrace(Code code, const tensorflow::serving::ModelSpec& answered) const;

  const RequestMeter* meter_ = nullptr;
  routing::Api api_ = routing::Api::kPredict;
  routing::Protocol protocol_ = routing::Protocol::kGrpc;
  std::chrono::steady_clock::time_point arrived_;
  std::string model_;
  int64_t examples_ = 0;
  tracing::TracePtr trace_;
};

// Thread-safe. Must outlive all its MeteredRequest objects.
class RequestMeter {
 public:
  static constexpr size_t kSeriesMax = 1000;

  // `knows` says whether a model exists; requests for unknown names are counted together, without a name. `tracer`
  // begins the traces of requests, and must outlive the meter. If it is null, requests have no traces.
  RequestMeter(metrics::Registry& registry, std::function<bool(const std::string& model)> knows,
               const tracing::Tracer* tracer = nullptr);

  // Call it when a request arrives.
  MeteredRequest Begin(routing::Api api, routing::Protocol protocol, const std::string& model) const;
  // As above. `parent_of` returns the caller's span (std::optional<tracing::Context>), and is called only if there are
  // traces.
  template <typename ParentOf>
  MeteredRequest Begin(routing::Api api, routing::Protocol protocol, const std::string& model,
                       const tracing::ServerCall& call, const ParentOf& parent_of) const {
    MeteredRequest request = Begin(api, protocol, model);
    if (tracer_ != nullptr) request.trace_ = tracer_->Begin(parent_of(), call, request.arrived_);
    return request;
  }

  // Call it when a version has been unloaded. Its counts are added to the series that its model has for all unloaded
  // versions.
  void ForgetVersion(const std::string& model, int64_t version) const;
  // Call it when a model has been removed; its counts are added to those of the model label "other".
  void ForgetModel(const std::string& model) const;

 private:
  friend class MeteredRequest;
  struct State;
  void End(const MeteredRequest& request, Code code, const tensorflow::serving::ModelSpec& answered) const;

  const tracing::Tracer* const tracer_;
  const std::shared_ptr<State> state_;  // While it exists, the registry exports its metrics.
};

}  // namespace longshore::frontend
