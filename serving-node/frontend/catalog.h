// What the frontends ask about models beside predictions: their state and their signatures.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/error.h"
#include "serving-node/models/models.h"
#include "tensorflow/saved_model.pb.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::frontend {

using Signatures = google::protobuf::Map<std::string, tensorflow::SignatureDef>;

// The signatures of one version. The pointer may be what keeps the version in memory while they are read.
struct Described {
  int64_t version = 0;
  std::shared_ptr<const Signatures> signatures;
};
using DescribeDone = std::function<void(Result<Described>)>;
using StatusDone = std::function<void(Result<tensorflow::serving::GetModelStatusResponse>)>;

// Thread-safe; must not block.
class Catalog {
 public:
  virtual ~Catalog() = default;

  // The version that the spec names; without one the one that a request would most likely get. NotFound or
  // InvalidArgument with TensorFlow Serving's texts; Unavailable when the model is known and no version is ready here.
  virtual Result<Described> Describe(const tensorflow::serving::ModelSpec& spec) const = 0;

  // As Describe, for what this node does not hold: another node that holds it is asked, where there is one. Calls back
  // exactly once, on any thread, possibly before it returns. Unavailable when the model is known and nobody has it
  // ready.
  virtual void DescribeElsewhere(const tensorflow::serving::ModelSpec& spec,
                                 [[maybe_unused]] std::chrono::steady_clock::time_point deadline,
                                 const DescribeDone& done) const {
    done(Describe(spec));
  }

  // Every version of the model that this node knows, the newest first. NotFound for an unknown model.
  virtual Result<std::vector<models::VersionStatus>> Versions(const std::string& model) const = 0;

  // The status of what the spec names, of a model for which Versions finds nothing: another node that may know it is
  // asked, where there is one. Calls back as DescribeElsewhere. NotFound when nobody knows it, or no such version.
  virtual void StatusElsewhere(const tensorflow::serving::ModelSpec& spec,
                               [[maybe_unused]] std::chrono::steady_clock::time_point deadline,
                               const StatusDone& done) const {
    done(NotFound("Could not find any versions of model {}", spec.name()));
  }
};

}  // namespace longshore::frontend
