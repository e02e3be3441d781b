// The two gRPC services of TensorFlow Serving, over a Predictor and a Catalog.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "serving-node/frontend/catalog.h"
#include "serving-node/frontend/in_flight.h"
#include "serving-node/frontend/inference_call.h"
#include "serving-node/frontend/metered.h"
#include "serving-node/routing/predict.h"
#include "serving-node/tensor/proto.h"
#include "tensorflow_serving/services.grpc.pb.h"

namespace longshore::frontend {

// Predict takes the raw bytes, because a request that goes on to a peer is sent as it came.
using PredictionServiceBase = tensorflow::serving::PredictionService::WithRawCallbackMethod_Predict<
    tensorflow::serving::PredictionService::WithCallbackMethod_Classify<
        tensorflow::serving::PredictionService::WithCallbackMethod_Regress<
            tensorflow::serving::PredictionService::WithCallbackMethod_MultiInference<
                tensorflow::serving::PredictionService::WithCallbackMethod_GetModelMetadata<
                    tensorflow::serving::PredictionService::Service>>>>>;

// Replaces the models that are served; calls done once, on any thread. Empty where a controller says what is served.
using ReloadFunction =
    std::function<void(tensorflow::serving::ModelServerConfig config, std::chrono::steady_clock::time_point deadline,
                       std::function<void(Status)> done)>;

// By whom nodes are answered that ask this one as a home of a model (routing/hop.h).
struct HomeDoor {
  const Catalog* catalog = nullptr;  // Null: no node asks.
  std::string fleet{};               // Those of another one are refused.
};

class PredictionService final : public PredictionServiceBase {
 public:
  struct Options {
    routing::Protocol protocol;
    std::string node;         // "": answers tell neither x-longshore-node nor x-longshore-version.
    bool check_method_names;  // A signature answers only to the method that it names.
    tensor::Encoding encoding = tensor::Encoding::kTypedFields;  // Of the outputs of Predict.
    const RequestMeter* meter = nullptr;                         // Counts what comes in; null: nothing does.
    InFlight* in_flight = nullptr;                               // Where predictions need a place; null: nowhere.
    HomeDoor home{};
  };
  PredictionService(routing::Predictor& predictor, const Catalog& catalog, Options options)
      : predictor_(predictor),
        catalog_(catalog),
        calls_(predictor, catalog, options.check_method_names),
        options_(std::move(options)) {}

  ::grpc::ServerUnaryReactor* Predict(::grpc::CallbackServerContext* context, const ::grpc::ByteBuffer* request,
                                      ::grpc::ByteBuffer* response) override;
  ::grpc::ServerUnaryReactor* GetModelMetadata(::grpc::CallbackServerContext* context,
                                               const tensorflow::serving::GetModelMetadataRequest* request,
                                               tensorflow::serving::GetModelMetadataResponse* response) override;
  ::grpc::ServerUnaryReactor* Classify(::grpc::CallbackServerContext* context,
                                       const tensorflow::serving::ClassificationRequest* request,
                                       tensorflow::serving::ClassificationResponse* response) override;
  ::grpc::ServerUnaryReactor* Regress(::grpc::CallbackServerContext* context,
                                      const tensorflow::serving::RegressionRequest* request,
                                      tensorflow::serving::RegressionResponse* response) override;
  ::grpc::ServerUnaryReactor* MultiInference(::grpc::CallbackServerContext* context,
                                             const tensorflow::serving::MultiInferenceRequest* request,
                                             tensorflow::serving::MultiInferenceResponse* response) override;

 private:
  template <typename Request, typename Response>
  using InferMethod = void (InferenceCalls::*)(CallInfo, Request, std::function<void(Result<Response>)>) const;
  template <typename Request, typename Response>
  ::grpc::ServerUnaryReactor* Infer(::grpc::CallbackServerContext* context, const Request& request, Response* response,
                                    MeteredRequest metered, InferMethod<Request, Response> method) const;
  void Begin(::grpc::CallbackServerContext* context) const;
  bool tells_version() const { return !options_.node.empty(); }  // Whose node has no name is alone.
  MeteredRequest Metered(routing::Api api, const std::string& model, int64_t examples = 0) const;
  bool Enter(InFlight::Place* place) const;
  CallInfo InfoOf(const ::grpc::CallbackServerContext& context) const;

  routing::Predictor& predictor_;
  const Catalog& catalog_;
  const InferenceCalls calls_;
  const Options options_;
};

class ModelService final : public tensorflow::serving::ModelService::CallbackService {
 public:
  ModelService(const Catalog& catalog, ReloadFunction reload, HomeDoor home)
      : catalog_(catalog), reload_(std::move(reload)), home_(std::move(home)) {}

  ::grpc::ServerUnaryReactor* GetModelStatus(::grpc::CallbackServerContext* context,
                                             const tensorflow::serving::GetModelStatusRequest* request,
                                             tensorflow::serving::GetModelStatusResponse* response) override;
  ::grpc::ServerUnaryReactor* HandleReloadConfigRequest(::grpc::CallbackServerContext* context,
                                                        const tensorflow::serving::ReloadConfigRequest* request,
                                                        tensorflow::serving::ReloadConfigResponse* response) override;

 private:
  const Catalog& catalog_;
  const ReloadFunction reload_;
  const HomeDoor home_;
};

}  // namespace longshore::frontend
