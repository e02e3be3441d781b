// One load of one version, from the files to a model that has run its warm-up.
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
  bool deterministic = false;  // As of engine::LoadOptions.
  bool warm_up = true;
  int warm_up_iterations = 1;
  batching::Options batching{};  // Of the model.
  BatchingOf batching_of{};
  bool flush_caches = false;         // When the load has ended, well or not, the system's cache forgets the files.
  const LoadMeter* meter = nullptr;  // Null: nobody counts.
};

struct Loaded {
  std::shared_ptr<engine::LoadedModel> model;
  std::string digest;
  std::optional<batching::Options> batching;  // Its own, where it brings one.
};

// What a load tells as it goes on.
struct LoadSteps {
  std::function<Status(int64_t bytes)> reserve;  // Before anything is loaded; its error fails the load.
  std::function<void()> warming;                 // The model is loaded, and its warm-up begins.
};

// As TensorFlow Serving estimates what a version needs in memory: 1.2 times the bytes of its files.
int64_t EstimateMemory(int64_t file_bytes);

// On the calling thread. Unavailable when the files
// changed between the gate's first look and the end of the load, well or not: what was judged and loaded is not what
// lies there.
Result<Loaded> LoadVersion(engine::Engine& engine, const LoadGate& gate, const LoadWork& work, const LoadSteps& steps);

}  // namespace longshore::models
