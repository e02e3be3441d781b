// What the frontends ask about models beside predictions: their state and their signatures.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/models/models.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::frontend {

// The signatures of one version. `loaded` keeps the version in memory while they are read.
struct Described {
  int64_t version = 0;
  std::shared_ptr<engine::LoadedModel> loaded;
};

// Thread-safe; must not block.
class Catalog {
 public:
  virtual ~Catalog() = default;

  // The version that the spec names; without one the one that a request would most likely get. NotFound or
  // InvalidArgument with TensorFlow Serving's texts; Unavailable when the model is known and no version is ready here.
  virtual Result<Described> Describe(const tensorflow::serving::ModelSpec& spec) const = 0;

  // Every version of the model that this node knows, the newest first. NotFound for an unknown model.
  virtual Result<std::vector<models::VersionStatus>> Versions(const std::string& model) const = 0;
};

}  // namespace longshore::frontend
