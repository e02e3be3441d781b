// One load of one version, from the files to a model that has run its warm-up.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "serving-node/models/models.h"

namespace longshore::models {

struct LoadWork {
  std::string model;
  int64_t version = 0;
  Path base_path;
  std::vector<std::string> tags;
  bool warm_up = true;
  int warm_up_iterations = 1;
  BatchingOf batching_of{};
};

struct Loaded {
  std::shared_ptr<engine::LoadedModel> model;
  std::string digest;
  std::optional<batching::Options> batching;  // Its own, where it brings one.
};

// On the calling thread. warming is called when the model is loaded and its warm-up begins. Unavailable when the files
// changed between the gate's first look and the end of the load, well or not: what was judged and loaded is not what
// lies there.
Result<Loaded> LoadVersion(engine::Engine& engine, const LoadGate& gate, const LoadWork& work,
                           const std::function<void()>& warming);

// Makes the calling thread yield to others: what loads must not slow what serves.
void LowerPriority();

}  // namespace longshore::models
