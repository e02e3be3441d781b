// The two gRPC services of TensorFlow Serving, over a Predictor and a Catalog.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "common/grpc/call_queue.h"
#include "serving-node/frontend/catalog.h"
#include "serving-node/frontend/in_flight.h"
#include "serving-node/frontend/inference_call.h"
#include "serving-node/frontend/metered.h"
#include "serving-node/routing/predict.h"
#include "serving-node/tensor/proto.h"
#include "tensorflow_serving/services.grpc.pb.h"

namespace longshore::frontend {

// One call of a service, beside what gRPC knows of it.
struct CallState {
  MeteredRequest metered;
  InFlight::Place place;
  bool tells_version = false;  // The answer says which version it is of, as x-longshore-version.
  void Ended(Code code) const { metered.End(code, {}); }
};
template <typename Request, typename Response>
using Call = rpc::UnaryCall<Request, Response, CallState>;

// Replaces the models that are served; calls done once, on any thread. Empty where a controller says what is served.
using ReloadFunction =
    std::function<void(tensorflow::serving::ModelServerConfig config, std::chrono::steady_clock::time_point deadline,
                       std::function<void(Status)> done)>;

class PredictionService {
 public:
  struct Options {
    routing::Protocol protocol;
    std::string node;         // "": answers tell neither x-longshore-node nor x-longshore-version.
    bool check_method_names;  // A signature answers only to the method that it names.
    tensor::Encoding encoding = tensor::Encoding::kTypedFields;  // Of the outputs of Predict.
    const RequestMeter* meter = nullptr;                         // Counts what comes in; null: nothing does.
    InFlight* in_flight = nullptr;                               // Where predictions need a place; null: nowhere.
  };
  PredictionService(routing::Predictor& predictor, const Catalog& catalog, Options options);

  ::grpc::Service& service() { return service_; }
  // Takes calls from the queue from now on, and outlives it.
  void Await(rpc::CallQueue& queue) const;

 private:
  // Predict takes the raw bytes, because a request that goes on to a peer is sent as it came.
  using Service = tensorflow::serving::PredictionService::WithRawMethod_Predict<
      tensorflow::serving::PredictionService::WithAsyncMethod_Classify<
          tensorflow::serving::PredictionService::WithAsyncMethod_Regress<
              tensorflow::serving::PredictionService::WithAsyncMethod_MultiInference<
                  tensorflow::serving::PredictionService::WithAsyncMethod_GetModelMetadata<
                      tensorflow::serving::PredictionService::Service>>>>>;
  using PredictCall = Call<::grpc::ByteBuffer, ::grpc::ByteBuffer>;
  using ClassifyCall = Call<tensorflow::serving::ClassificationRequest, tensorflow::serving::ClassificationResponse>;
  using RegressCall = Call<tensorflow::serving::RegressionRequest, tensorflow::serving::RegressionResponse>;
  using MultiCall = Call<tensorflow::serving::MultiInferenceRequest, tensorflow::serving::MultiInferenceResponse>;
  using MetadataCall =
      Call<tensorflow::serving::GetModelMetadataRequest, tensorflow::serving::GetModelMetadataResponse>;

  template <typename Request, typename Response>
  using InferMethod = void (InferenceCalls::*)(CallInfo, Request, std::function<void(Result<Response>)>) const;
  template <typename Request, typename Response>
  void Infer(Call<Request, Response>& call, routing::Api api, const std::string& model,
             InferMethod<Request, Response> method) const;
  void Predict(PredictCall& call) const;
  void GetModelMetadata(MetadataCall& call) const;
  MeteredRequest Metered(routing::Api api, const std::string& model, int64_t examples = 0) const;
  template <typename AnyCall>
  void Greet(AnyCall& call) const;
  template <typename AnyCall>
  bool Enter(AnyCall& call) const;
  CallInfo InfoOf(const ::grpc::ServerContext& context) const;

  routing::Predictor& predictor_;
  const Catalog& catalog_;
  const InferenceCalls calls_;
  const Options options_;
  Service service_;
  PredictCall::Method predict_;
  ClassifyCall::Method classify_;
  RegressCall::Method regress_;
  MultiCall::Method multi_inference_;
  MetadataCall::Method metadata_;
};

class ModelService {
 public:
  ModelService(const Catalog& catalog, ReloadFunction reload);

  ::grpc::Service& service() { return service_; }
  void Await(rpc::CallQueue& queue) const;  // As PredictionService.

 private:
  using StatusCall = Call<tensorflow::serving::GetModelStatusRequest, tensorflow::serving::GetModelStatusResponse>;
  using ReloadCall = Call<tensorflow::serving::ReloadConfigRequest, tensorflow::serving::ReloadConfigResponse>;
  void GetModelStatus(StatusCall& call) const;
  void HandleReloadConfigRequest(ReloadCall& call) const;

  const Catalog& catalog_;
  const ReloadFunction reload_;
  tensorflow::serving::ModelService::AsyncService service_;
  StatusCall::Method status_;
  ReloadCall::Method reload_config_;
};

}  // namespace longshore::frontend
