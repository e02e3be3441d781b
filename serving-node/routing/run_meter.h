// Metrics of the run times on this node, by model, version, signature and API, under Longshore's names and under those
// of TensorFlow Serving. docs/metrics.md lists them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "common/metrics/metrics.h"
#include "serving-node/batching/batching.h"
#include "serving-node/routing/predict.h"

namespace longshore::routing {

// Thread-safe.
class RunMeter {
 public:
  static constexpr size_t kSeriesMax = 1000;
  static constexpr size_t kBatchSizesMax = 64;

  explicit RunMeter(metrics::Registry& registry);

  struct Run {
    const std::string& model;
    int64_t version;
    const std::string& signature;
    Api api;
  };
  // Counts one request that a run answered.
  void Record(const Run& run, const batching::RunOutcome& outcome);

  // Adds the series of an unloaded version to the series that its model has for all unloaded versions.
  void ForgetVersion(const std::string& model, int64_t version);
  // Adds the series of a removed model to the series with the model label "other".
  void ForgetModel(const std::string& model);

 private:
  struct State;
  const std::shared_ptr<State> state_;  // Shared with the registry, which may outlive the meter.
};

}  // namespace longshore::routing
