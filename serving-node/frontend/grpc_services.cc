#include "serving-node/frontend/grpc_services.h"

#include <memory>

#include "common/binary_proto/binary_proto.h"
#include "serving-node/frontend/queries.h"
#include "serving-node/inference/response.h"
#include "serving-node/inference/wire.h"
#include "serving-node/routing/hop.h"
#include "serving-node/tensor/wire.h"

namespace longshore::frontend {
namespace {

using inference::ExampleCount;
using tensorflow::serving::GetModelMetadataRequest;
using tensorflow::serving::GetModelMetadataResponse;
using tensorflow::serving::GetModelStatusRequest;
using tensorflow::serving::GetModelStatusResponse;
using tensorflow::serving::MultiInferenceRequest;
using tensorflow::serving::MultiInferenceResponse;
using tensorflow::serving::ReloadConfigRequest;
using tensorflow::serving::ReloadConfigResponse;

// Returns the name of the request's model.
template <typename Request>
const std::string& ModelOf(const Request& request) {
  return request.model_spec().name();
}
const std::string& ModelOf(const MultiInferenceRequest& request) {
  static const std::string none;
  return request.tasks_size() == 0 ? none : request.tasks(0).model_spec().name();
}

template <typename Response>
const tensorflow::serving::ModelSpec& SpecOf(const Response& response) {
  return response.model_spec();
}
const tensorflow::serving::ModelSpec& SpecOf(const MultiInferenceResponse& response) {
  return response.results(0).model_spec();
}

Encoded Encode(routing::PredictAnswer answer, tensor::Encoding encoding) {
  Pieces bytes = answer.serialized.empty() ? inference::ResponseOf(answer.model_spec, answer.outputs, encoding)
                                           : std::move(answer.serialized);
  return {std::move(answer.model_spec), std::move(bytes)};
}

// Returns the catalog that answers the query. Unavailable if the query comes from a node of another fleet.
Result<const Catalog*> CatalogFor(const Call& call, const Catalog& catalog, const HomeNode& home) {
  if (home.catalog == nullptr) return &catalog;
  ASSIGN_OR_RETURN(const bool to_home, routing::IsToHome(HeadersOf(call), home.fleet));
  return to_home ? home.catalog : &catalog;
}

}  // namespace

void PredictionService::Predict(const std::shared_ptr<Prediction>& prediction) const {
  auto read = inference::Request::Parse(prediction->TakeRequest());
  if (!read) return prediction->Fail(read.error());
  prediction->metered().SetModel(read->model_spec().name());
  predictor_.Predict(ToCall(prediction->Info(), std::move(*read)),
                     [prediction, encoding = options_.encoding](Result<routing::PredictAnswer> answer) {
                       prediction->Finish(std::move(answer), [encoding](routing::PredictAnswer each) {
                         return Encode(std::move(each), encoding);
                       });
                     });
}

template <typename Request, typename Response>
grpc_server::Method PredictionService::Infer(routing::Api api, InferMethod<Request, Response> method) const {
  return Predicting(options_.call, api, [this, method](const std::shared_ptr<Prediction>& prediction) {
    const Pieces bytes = prediction->TakeRequest();
    Request message;
    const bool is_read = ParseBinaryProto(bytes, &message);
    prediction->metered().SetModel(ModelOf(message));
    prediction->metered().SetExamples(ExampleCount(message.input()));
    if (!is_read) return prediction->Fail(inference::Malformed(message, bytes.size()));
    (calls_.*method)(prediction->Info(), std::move(message), [prediction](Result<Response> answer) {
      prediction->Finish(std::move(answer), [](const Response& each) {
        return Encoded{SpecOf(each), grpc_server::ToPieces(each)};
      });
    });
  });
}

void PredictionService::GetModelMetadata(const CallPtr& call, const GetModelMetadataRequest& request,
                                         const std::function<void(Result<GetModelMetadataResponse>)>& done) const {
  AddNode(*call, options_.call);
  const auto catalog = CatalogFor(*call, catalog_, options_.home);
  if (!catalog) return done(tl::make_unexpected(catalog.error()));
  GetMetadata(**catalog, request, call->deadline(),
              [call, done, names_version = sends_version()](Result<GetModelMetadataResponse> answer) {
                if (answer && names_version && answer->model_spec().has_version()) {
                  call->AddInitialMetadata(kVersionHeader, std::to_string(answer->model_spec().version().value()));
                }
                done(std::move(answer));
              });
}

void PredictionService::AddTo(grpc_server::Service& service) const {
  const std::string prefix = "/tensorflow.serving.PredictionService/";
  service.Add(prefix + "Predict",
              Predicting(options_.call, routing::Api::kPredict,
                         [this](const std::shared_ptr<Prediction>& prediction) { Predict(prediction); }));
  service.Add(prefix + "Classify", Infer(routing::Api::kClassify, &InferenceCalls::Classify));
  service.Add(prefix + "Regress", Infer(routing::Api::kRegress, &InferenceCalls::Regress));
  service.Add(prefix + "MultiInference", Infer(routing::Api::kMultiInference, &InferenceCalls::MultiInference));
  service.Add(prefix + "GetModelMetadata", Query<GetModelMetadataRequest, GetModelMetadataResponse>(
                                               [this](const CallPtr& call, const auto& request, const auto& done) {
                                                 GetModelMetadata(call, request, done);
                                               }));
}

void ModelService::GetModelStatus(const Call& call, const GetModelStatusRequest& request,
                                  const StatusDone& done) const {
  if (const Status spec = routing::CheckModelSpec(request); !spec) return done(tl::make_unexpected(spec.error()));
  const auto catalog = CatalogFor(call, catalog_, home_);
  if (!catalog) return done(tl::make_unexpected(catalog.error()));
  GetStatus(**catalog, request.model_spec(), call.deadline(), done);
}

void ModelService::Reload(const Call& call, const ReloadConfigRequest& request, const ReloadDone& done) const {
  if (!reload_) return done(ManagedByController());
  if (request.metric_names_size() > 0) {
    return done(Unimplemented("metric_names is not supported: read the metrics before and after the reload"));
  }
  reload_(request.config(), call.deadline(), [done](const Status& status) {
    if (!status) return done(tl::make_unexpected(status.error()));
    done(ReloadConfigResponse());
  });
}

void ModelService::AddTo(grpc_server::Service& service) const {
  const std::string prefix = "/tensorflow.serving.ModelService/";
  service.Add(prefix + "GetModelStatus", Query<GetModelStatusRequest, GetModelStatusResponse>(
                                             [this](const CallPtr& call, const auto& request, const auto& done) {
                                               GetModelStatus(*call, request, done);
                                             }));
  service.Add(prefix + "HandleReloadConfigRequest", Query<ReloadConfigRequest, ReloadConfigResponse>(
                                                        [this](const CallPtr& call, const auto& request,
                                                               const auto& done) { Reload(*call, request, done); }));
}

}  // namespace longshore::frontend
