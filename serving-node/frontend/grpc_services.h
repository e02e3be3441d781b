// The two gRPC services of TensorFlow Serving. A Predictor and a Catalog answer their requests.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "common/net/grpc/answer_deadlines.h"
#include "serving-node/frontend/catalog.h"
#include "serving-node/frontend/in_flight.h"
#include "serving-node/frontend/inference_call.h"
#include "serving-node/frontend/metered.h"
#include "serving-node/routing/predict.h"
#include "serving-node/tensor/proto.h"
#include "tensorflow_serving/services.grpc.pb.h"

namespace longshore::frontend {

// The prediction methods receive raw bytes, so that an overloaded node rejects a request before it is parsed, and a
// Predict request that is forwarded to a peer is sent unchanged.
using PredictionServiceBase = tensorflow::serving::PredictionService::WithRawCallbackMethod_Predict<
    tensorflow::serving::PredictionService::WithRawCallbackMethod_Classify<
        tensorflow::serving::PredictionService::WithRawCallbackMethod_Regress<
            tensorflow::serving::PredictionService::WithRawCallbackMethod_MultiInference<
                tensorflow::serving::PredictionService::WithCallbackMethod_GetModelMetadata<
                    tensorflow::serving::PredictionService::Service>>>>>;

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

class PredictionService final : public PredictionServiceBase {
 public:
  struct Options {
    routing::Protocol protocol;
    // The node's name. "": answers have neither x-longshore-node nor x-longshore-version.
    std::string node;
    bool check_method_names;  // Reject a call if the signature's method_name belongs to another RPC.
    tensor::Encoding encoding = tensor::Encoding::kTypedFields;  // How the outputs of Predict are encoded.
    const RequestMeter* meter = nullptr;                         // Null: requests are not counted.
    InFlight* in_flight = nullptr;                               // Limits the predictions in flight. Null: no limit.
    HomeNode home{};
  };
  // Everything that the constructor gets by reference must outlive the service.
  PredictionService(routing::Predictor& predictor, const Catalog& catalog, rpc::AnswerDeadlines& deadlines,
                    Options options)
      : predictor_(predictor),
        catalog_(catalog),
        deadlines_(deadlines),
        calls_(predictor, catalog, options.check_method_names),
        options_(std::move(options)) {}

  ::grpc::ServerUnaryReactor* Predict(::grpc::CallbackServerContext* context, const ::grpc::ByteBuffer* request,
                                      ::grpc::ByteBuffer* response) override;
  ::grpc::ServerUnaryReactor* GetModelMetadata(::grpc::CallbackServerContext* context,
                                               const tensorflow::serving::GetModelMetadataRequest* request,
                                               tensorflow::serving::GetModelMetadataResponse* response) override;
  ::grpc::ServerUnaryReactor* Classify(::grpc::CallbackServerContext* context, const ::grpc::ByteBuffer* request,
                                       ::grpc::ByteBuffer* response) override;
  ::grpc::ServerUnaryReactor* Regress(::grpc::CallbackServerContext* context, const ::grpc::ByteBuffer* request,
                                      ::grpc::ByteBuffer* response) override;
  ::grpc::ServerUnaryReactor* MultiInference(::grpc::CallbackServerContext* context, const ::grpc::ByteBuffer* request,
                                             ::grpc::ByteBuffer* response) override;

 private:
  template <typename Request, typename Response>
  using InferMethod = void (InferenceCalls::*)(CallInfo, Request, std::function<void(Result<Response>)>) const;
  template <typename Request, typename Response>
  ::grpc::ServerUnaryReactor* Infer(::grpc::CallbackServerContext* context, const ::grpc::ByteBuffer& request,
                                    ::grpc::ByteBuffer* response, routing::Api api,
                                    InferMethod<Request, Response> method) const;
  void Begin(::grpc::CallbackServerContext* context) const;
  // Only nodes in a fleet have a name here.
  bool sends_version() const { return !options_.node.empty(); }
  MeteredRequest Metered(const ::grpc::CallbackServerContext& context, routing::Api api) const;
  Result<InFlight::Slot> Enter(const ::grpc::CallbackServerContext& context) const;
  CallInfo InfoOf(const ::grpc::CallbackServerContext& context, const MeteredRequest& metered) const;

  routing::Predictor& predictor_;
  const Catalog& catalog_;
  rpc::AnswerDeadlines& deadlines_;
  const InferenceCalls calls_;
  const Options options_;
};

class ModelService final : public tensorflow::serving::ModelService::CallbackService {
 public:
  ModelService(const Catalog& catalog, rpc::AnswerDeadlines& deadlines, ReloadFunction reload, HomeNode home)
      : catalog_(catalog), deadlines_(deadlines), reload_(std::move(reload)), home_(std::move(home)) {}

  ::grpc::ServerUnaryReactor* GetModelStatus(::grpc::CallbackServerContext* context,
                                             const tensorflow::serving::GetModelStatusRequest* request,
                                             tensorflow::serving::GetModelStatusResponse* response) override;
  ::grpc::ServerUnaryReactor* HandleReloadConfigRequest(::grpc::CallbackServerContext* context,
                                                        const tensorflow::serving::ReloadConfigRequest* request,
                                                        tensorflow::serving::ReloadConfigResponse* response) override;

 private:
  const Catalog& catalog_;
  rpc::AnswerDeadlines& deadlines_;
  const ReloadFunction reload_;
  const HomeNode home_;
};

}  // namespace longshore::frontend
