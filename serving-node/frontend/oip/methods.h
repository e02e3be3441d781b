// The methods of the Open Inference Protocol. The gRPC service and the REST API both call them, so they answer alike.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "inference/service.pb.h"
#include "serving-node/frontend/catalog.h"
#include "serving-node/frontend/inference_call.h"
#include "serving-node/frontend/oip/codec/infer.h"
#include "serving-node/frontend/oip/codec/raw.h"
#include "serving-node/frontend/oip/repository.h"
#include "serving-node/routing/predict.h"
#include "serving-node/routing/run_statistics.h"

namespace longshore::frontend::oip {

struct ModelView;

// A model and its version, as a request names them. In all calls, a version of digits is a number, which may have
// leading zeros, another one is a label, and "" leaves the choice to the node.
struct ModelName {
  std::string name;
  std::string version;
};

// The answer to an inference, and the model spec with the version that answered.
struct Answered {
  codec::InferAnswer answer;
  tensorflow::serving::ModelSpec model_spec;
};

// Thread-safe. Functions with `done` call it exactly once, on any thread, possibly before they return. Errors about
// unknown models have Triton's texts, errors about inputs those of TensorFlow Serving.
class Methods {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  struct Deps {
    routing::Predictor& predictor;
    const Catalog& catalog;
    Repository& repository;
    const routing::RunStatistics& statistics;
    std::function<bool()> ready;  // Whether the node can answer requests to all its models.
    std::string software_version;
    int64_t elements_max;  // Of all inputs of a request together.
    // Whether a client may change the level of the node's log. The frontends admit only clients with the scope admin.
    bool may_change_log = false;
  };
  // The dependencies must outlive this object and its calls.
  explicit Methods(Deps deps) : deps_(std::move(deps)) {}

  int64_t elements_max() const { return deps_.elements_max; }
  bool ServerReady() const { return deps_.ready(); }
  ::inference::ServerMetadataResponse ServerMetadata() const;

  // Runs the request. `info` must have the protocol, the headers and the deadline of the call; a priority and a timeout
  // in the parameters of the request override them. ResourceExhausted if memory does not suffice.
  void Infer(codec::InferRequest request, CallInfo info, const Done<Answered>& done) const;

  // Whether a version is ready to answer. An unknown model or version is not ready, which is not an error.
  void ModelReady(const ModelName& model, TimePoint deadline, const Done<bool>& done) const;
  void ModelMetadata(const ModelName& model, TimePoint deadline,
                     const Done<::inference::ModelMetadataResponse>& done) const;
  void ModelConfig(const ModelName& model, TimePoint deadline, const Done<::inference::ModelConfig>& done) const;

  // Returns the only input of the signature "serving_default", with a pattern as its shape. InvalidArgument if the
  // signature has several inputs or none. The text of InputHead::model is not set.
  void OnlyInput(const ModelName& model, TimePoint deadline, const Done<codec::InputHead>& done) const;

  // Returns the statistics of the runs on this node. If the name is "", the answer has all models; if the version is
  // "", it has all versions that are available.
  Result<::inference::ModelStatisticsResponse> Statistics(const ModelName& model) const;

  Result<::inference::RepositoryIndexResponse> Index(const ::inference::RepositoryIndexRequest& request) const;
  void Load(const ::inference::RepositoryModelLoadRequest& request, TimePoint deadline, Repository::Done done) const;
  void Unload(const ::inference::RepositoryModelUnloadRequest& request, Repository::Done done) const;

  // As oip::LogSettings.
  Result<::inference::LogSettingsResponse> LogSettings(const ::inference::LogSettingsRequest& request) const;

  // The answer to every attempt to register a region of shared memory.
  static Error NoRegions();

 private:
  void Run(codec::InferRequest request, CallInfo info, Done<Answered> done) const;
  template <typename T>
  void Describe(const ModelName& model, TimePoint deadline, T (*convert)(const ModelView&), const Done<T>& done) const;
  std::vector<int64_t> ReadyVersions(const std::string& model) const;
  // Returns the number of the version; nullopt for "". NotFound for a label that this node does not know.
  Result<std::optional<int64_t>> VersionOf(const ModelName& model) const;

  const Deps deps_;
};

}  // namespace longshore::frontend::oip
