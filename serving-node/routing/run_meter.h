// What the runs of this node took, by model, version, signature and call: shown under our names and under those of
// TensorFlow Serving. docs/metrics.md lists them.
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
  // A request that was answered by a run.
  void Record(const Run& run, const batching::RunOutcome& outcome);

  // The version has left: what it did counts for its model from now on.
  void ForgetVersion(const std::string& model, int64_t version);
  // The model has left: what it did counts for "other".
  void ForgetModel(const std::string& model);

 private:
  struct State;
  const std::shared_ptr<State> state_;  // The registry shows it as long as it lives.
};

}  // namespace longshore::routing
