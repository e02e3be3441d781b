// Counts and times every request to a model, including refused ones. The metrics have Longshore's names and also
// TensorFlow Serving's; docs/metrics.md lists them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/metrics/metrics.h"
#include "serving-node/routing/predict.h"

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

  // Records the result that the client sees; call it once. `answered` is the model spec of the answer.
  void End(Code code, const tensorflow::serving::ModelSpec& answered) const;

 private:
  friend class RequestMeter;
  const RequestMeter* meter_ = nullptr;
  routing::Api api_ = routing::Api::kPredict;
  routing::Protocol protocol_ = routing::Protocol::kGrpc;
  std::chrono::steady_clock::time_point arrived_;
  std::string model_;
  int64_t examples_ = 0;
};

// Thread-safe. Must outlive all its MeteredRequest objects.
class RequestMeter {
 public:
  static constexpr size_t kSeriesMax = 1000;

  // `knows` says whether a model exists; requests for unknown names are counted together, without a name.
  RequestMeter(metrics::Registry& registry, std::function<bool(const std::string& model)> knows);

  // Call it when a request arrives.
  MeteredRequest Begin(routing::Api api, routing::Protocol protocol, const std::string& model) const;

  // Call it when a version has been unloaded. Its counts are added to the series that its model has for all unloaded
  // versions.
  void ForgetVersion(const std::string& model, int64_t version) const;
  // Call it when a model has been removed; its counts are added to those of the model label "other".
  void ForgetModel(const std::string& model) const;

 private:
  friend class MeteredRequest;
  struct State;
  void End(const MeteredRequest& request, Code code, const tensorflow::serving::ModelSpec& answered) const;

  const std::shared_ptr<State> state_;  // While it exists, the registry exports its metrics.
};

}  // namespace longshore::frontend
