// How loads and warm-ups of versions went, under the names of TensorFlow Serving. docs/metrics.md lists them.
#pragma once

#include <chrono>
#include <memory>

#include "common/error.h"
#include "common/file.h"
#include "common/metrics/metrics.h"

namespace longshore::models {

// Thread-safe.
class LoadMeter {
 public:
  // Of more directories, those that were loaded longest ago are shown together as "other".
  static constexpr size_t kPathsMax = 100;

  explicit LoadMeter(metrics::Registry& registry);

  // One attempt to load a version's files.
  void Loaded(const Path& version_dir, const Status& status, std::chrono::microseconds took) const;
  // One warm-up of a version, with so many records.
  void WarmedUp(const Path& version_dir, const Status& status, std::chrono::microseconds took, size_t records) const;

 private:
  struct State;
  const std::shared_ptr<State> state_;  // The registry shows it as long as it lives.
};

}  // namespace longshore::models
