// Queries about models that frontends need in addition to predictions: status and signatures.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/models/models.h"
#include "tensorflow/saved_model.pb.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::frontend {

using engine::Signatures;

// The signatures of one version. While the pointer exists, the version may stay in memory.
struct Described {
  int64_t version = 0;
  std::shared_ptr<const Signatures> signatures;
};
using DescribeDone = std::function<void(Result<Described>)>;
using StatusDone = std::function<void(Result<tensorflow::serving::GetModelStatusResponse>)>;

// Thread-safe. Its functions must not block.
class Catalog {
 public:
  virtual ~Catalog() = default;

  // Describes the version that the spec names. If it names none, describes the version that a request would most likely
  // get. Returns NotFound or InvalidArgument with TensorFlow Serving's texts, and Unavailable if the model is known but
  // has no available version on this node.
  virtual Result<Described> Describe(const tensorflow::serving::ModelSpec& spec) const = 0;

  // Returns signatures with which the inputs of a request for this spec can most likely be read. Like Describe; but in
  // a fleet, if only other nodes hold the version, describes another version of the model that this node holds.
  virtual Result<Described> DescribeSimilar(const tensorflow::serving::ModelSpec& spec) const { return Describe(spec); }

  // Like Describe, but in a fleet asks nodes that hold the version if this node does not. Calls `done` exactly once, on
  // any thread, possibly before it returns. Unavailable if the model is known but not ready on any node.
  virtual void DescribeElsewhere(const tensorflow::serving::ModelSpec& spec,
                                 [[maybe_unused]] std::chrono::steady_clock::time_point deadline,
                                 const DescribeDone& done) const {
    done(Describe(spec));
  }

  // Returns the versions of the model that this node knows, the highest first. NotFound if the model is unknown.
  virtual Result<std::vector<models::VersionStatus>> Versions(const std::string& model) const = 0;

  // Returns the status of a model or version for which Versions found nothing: in a fleet, asks nodes that may know the
  // model. Calls `done` in the same way as DescribeElsewhere. NotFound if no node knows the model or the version.
  virtual void StatusElsewhere(const tensorflow::serving::ModelSpec& spec,
                               [[maybe_unused]] std::chrono::steady_clock::time_point deadline,
                               const StatusDone& done) const {
    done(NotFound("Could not find any versions of model {}", spec.name()));
  }
};

}  // namespace longshore::frontend
