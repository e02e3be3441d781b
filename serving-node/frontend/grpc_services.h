// The two gRPC services of TensorFlow Serving. A Predictor and a Catalog answer their requests.
#pragma once

#include <functional>
#include <string>

#include "common/net/grpc_server/service.h"
#include "serving-node/frontend/catalog.h"
#include "serving-node/frontend/grpc_call.h"
#include "serving-node/frontend/inference_call.h"
#include "serving-node/routing/predict.h"
#include "serving-node/tensor/proto.h"

namespace longshore::frontend {

// Replaces the served models, and calls `done` once, on any thread. The function is empty in cluster mode, where a
// controller decides which models are served.
using ReloadFunction =
    std::function<void(tensorflow::serving::ModelServerConfig config, std::chrono::steady_clock::time_point deadline,
                       std::function<void(Status)> done)>;

// How this node answers nodes that query it as the home node of a model (routing/hop.h).
struct HomeNode {
  const Catalog* catalog = nullptr;  // Null: this node is not a home node.
  std::string fleet{};               // Nodes of other fleets are rejected.
};

// An overloaded node rejects a prediction before it is parsed, and a Predict request that is forwarded to a peer is
// sent unchanged.
class PredictionService {
 public:
  struct Options {
    CallOptions call;
    bool check_method_names = false;  // Reject a call if the signature's method_name belongs to another RPC.
    tensor::Encoding encoding = tensor::Encoding::kTypedFields;  // How the outputs of Predict are encoded.
    HomeNode home{};
  };
  // Everything that the constructor gets by reference must outlive the service.
  PredictionService(routing::Predictor& predictor, const Catalog& catalog, Options options)
      : predictor_(predictor),
        catalog_(catalog),
        calls_(predictor, catalog, options.check_method_names),
        options_(std::move(options)) {}

  // Adds the methods, which use this object.
  void AddTo(grpc_server::Service& service) const;

 private:
  template <typename Request, typename Response>
  using InferMethod = void (InferenceCalls::*)(CallInfo, Request, std::function<void(Result<Response>)>) const;
  template <typename Request, typename Response>
  grpc_server::Method Infer(routing::Api api, InferMethod<Request, Response> method) const;
  void Predict(const std::shared_ptr<Prediction>& prediction) const;
  void GetModelMetadata(const CallPtr& call, const tensorflow::serving::GetModelMetadataRequest& request,
                        const std::function<void(Result<tensorflow::serving::GetModelMetadataResponse>)>& done) const;
  // Only nodes in a fleet have a name here.
  bool sends_version() const { return !options_.call.node.empty(); }

  routing::Predictor& predictor_;
  const Catalog& catalog_;
  const InferenceCalls calls_;
  const Options options_;
};

class ModelService {
 public:
  ModelService(const Catalog& catalog, ReloadFunction reload, HomeNode home)
      : catalog_(catalog), reload_(std::move(reload)), home_(std::move(home)) {}

  // Adds the methods, which use this object.
  void AddTo(grpc_server::Service& service) const;

 private:
  using StatusDone = std::function<void(Result<tensorflow::serving::GetModelStatusResponse>)>;
  void GetModelStatus(const Call& call, const tensorflow::serving::GetModelStatusRequest& request,
                      const StatusDone& done) const;
  using ReloadDone = std::function<void(Result<tensorflow::serving::ReloadConfigResponse>)>;
  void Reload(const Call& call, const tensorflow::serving::ReloadConfigRequest& request, const ReloadDone& done) const;

  const Catalog& catalog_;
  const ReloadFunction reload_;
  const HomeNode home_;
};

}  // namespace longshore::frontend
