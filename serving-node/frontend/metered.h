// Counts and times every request to a model where it comes in, whatever becomes of it: shown under our names and under
// those of TensorFlow Serving. docs/metrics.md lists them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/metrics/metrics.h"
#include "serving-node/routing/predict.h"

namespace longshore::frontend {

class RequestMeter;

// One request, from its arrival to its answer. Empty when nothing is counted.
class MeteredRequest {
 public:
  MeteredRequest() = default;

  // The model that it turns out to be about, when it could not be read before.
  void SetModel(const std::string& model) { model_ = model; }
  // How many tf.Examples it brings, of the calls that take them.
  void SetExamples(int64_t examples) { examples_ = examples; }

  // How the request ended, as its client sees it: once. `answered` is what the answer says of its model.
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

// Thread-safe. Outlives its requests.
class RequestMeter {
 public:
  static constexpr size_t kSeriesMax = 1000;

  // `knows` says whether a model exists: names that clients make up are counted together, without a name.
  RequestMeter(metrics::Registry& registry, std::function<bool(const std::string& model)> knows);

  // A request arrived.
  MeteredRequest Begin(routing::Api api, routing::Protocol protocol, const std::string& model) const;

  // The version has left: what it did counts for its model from now on.
  void ForgetVersion(const std::string& model, int64_t version) const;
  // The model has left: what it did counts for "other".
  void ForgetModel(const std::string& model) const;

 private:
  friend class MeteredRequest;
  struct State;
  void End(const MeteredRequest& request, Code code, const tensorflow::serving::ModelSpec& answered) const;

  const std::shared_ptr<State> state_;  // The registry shows it as long as it lives.
};

}  // namespace longshore::frontend
