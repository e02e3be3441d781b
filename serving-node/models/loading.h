// Loads one version: from its files to a warmed-up model.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "serving-node/models/load_meter.h"
#include "serving-node/models/models.h"

namespace longshore::models {

struct LoadWork {
  std::string model;
  int64_t version = 0;
  Path base_path;
  std::vector<std::string> tags;
  bool deterministic = false;  // See engine::LoadOptions.
  bool warm_up = true;
  int warm_up_iterations = 1;
  batching::Options batching{};  // The batching of the model.
  BatchingOf batching_of{};
  bool flush_caches = false;         // Drop the files from the page cache after the load, even if it failed.
  const LoadMeter* meter = nullptr;  // Null: the load is not counted.
};

struct Loaded {
  std::shared_ptr<engine::LoadedModel> model;
  std::string digest;
  std::optional<batching::Options> batching;  // The version's own batching, if BatchingOf returned one.
};

// The functions that LoadVersion calls during a load.
struct LoadSteps {
  std::function<Status(int64_t bytes)> reserve;  // Called before loading begins; an error fails the load.
  std::function<void()> warming;                 // Called after the model is loaded, before its warm-up.
};

// Estimates the memory of a version as TensorFlow Serving does: 1.2 times the bytes of its files.
int64_t EstimateMemory(int64_t file_bytes);

// Loads the version on the calling thread. Returns Unavailable if the files changed between the check by `gate` and the
// end of the load, even if the load itself failed, because its error is about files that are no longer current.
Result<Loaded> LoadVersion(engine::Engine& engine, const LoadGate& gate, const LoadWork& work, const LoadSteps& steps);

}  // namespace longshore::models
