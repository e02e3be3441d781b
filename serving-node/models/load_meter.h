// Metrics of loads and warm-ups, with TensorFlow Serving's metric names. docs/metrics.md lists them.
#pragma once

#include <chrono>
#include <memory>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/metrics/metrics.h"

namespace longshore::models {

// Thread-safe.
class LoadMeter {
 public:
  // If there are more directories, the counts of the least recently loaded ones are summed under the path "other".
  static constexpr size_t kPathsMax = 100;

  explicit LoadMeter(metrics::Registry& registry);

  // Counts one attempt to load a version's files.
  void Loaded(const Path& version_dir, const Status& status, std::chrono::microseconds took) const;
  // Counts one warm-up of a version, which replayed `records` records.
  void WarmedUp(const Path& version_dir, const Status& status, std::chrono::microseconds took, size_t records) const;

 private:
  struct State;
  const std::shared_ptr<State> state_;  // Shared with the registry, which may outlive the meter.
};

}  // namespace longshore::models
