#include "serving-node/frontend/grpc_services.h"

#include <grpcpp/server_context.h>

#include <memory>
#include <vector>

#include "common/net/grpc/bytes.h"
#include "serving-node/frontend/grpc_call.h"
#include "serving-node/frontend/headers.h"
#include "serving-node/frontend/queries.h"
#include "serving-node/inference/response.h"
#include "serving-node/inference/wire.h"
#include "serving-node/routing/hop.h"
#include "serving-node/tensor/wire.h"

namespace longshore::frontend {
namespace {

using ::grpc::ByteBuffer;
using ::grpc::CallbackServerContext;
using ::grpc::ServerUnaryReactor;
using inference::ExampleCount;

// Returns the name of the request's model.
template <typename Request>
const std::string& ModelOf(const Request& request) {
  return request.model_spec().name();
}
const std::string& ModelOf(const tensorflow::serving::MultiInferenceRequest& request) {
  static const std::string none;
  return request.tasks_size() == 0 ? none : request.tasks(0).model_spec().name();
}

Encoded Encode(routing::PredictAnswer answer, tensor::Encoding encoding) {
  const Pieces bytes = answer.serialized.empty() ? inference::ResponseOf(answer.model_spec, answer.outputs, encoding)
                                                 : std::move(answer.serialized);
  return {std::move(answer.model_spec), rpc::ToByteBuffer(bytes)};
}

template <typename Response>
Encoded Encode(Response response) {
  ByteBuffer bytes = ToByteBuffer(response);
  return {SpecOf(response), std::move(bytes)};
}

// Returns the catalog that answers the query. Unavailable if the query comes from a node of another fleet.
Result<const Catalog*> CatalogFor(const CallbackServerContext& context, const Catalog& catalog, const HomeNode& home) {
  if (home.catalog == nullptr) return &catalog;
  ASSIGN_OR_RETURN(const bool to_home, routing::IsToHome(HeadersOf(context), home.fleet));
  return to_home ? home.catalog : &catalog;
}

}  // namespace

Result<InFlight::Slot> PredictionService::Enter(const CallbackServerContext& context) const {
  if (options_.in_flight == nullptr) return InFlight::Slot();
  return options_.in_flight->Enter(ConnectionOf(context, options_.protocol));
}

void PredictionService::Begin(CallbackServerContext* context) const {
  if (!options_.node.empty()) context->AddInitialMetadata(kNodeHeader, options_.node);
}

// Begins to meter a request whose model is unknown until the request is parsed.
MeteredRequest PredictionService::Metered(const CallbackServerContext& context, routing::Api api) const {
  if (options_.meter == nullptr) return {};
  return options_.meter->Begin(api, options_.protocol, "",
                               {.service = "tensorflow.serving.PredictionService", .method = NameOf(api)},
                               [&context] { return ParentOf(context); });
}

CallInfo PredictionService::InfoOf(const CallbackServerContext& context, const MeteredRequest& metered) const {
  return {.headers = HeadersOf(context),
          .deadline = SteadyDeadline(context),
          .protocol = options_.protocol,
          .trace = metered.trace()};
}

ServerUnaryReactor* PredictionService::Predict(CallbackServerContext* context, const ByteBuffer* request,
                                               ByteBuffer* response) {
  Begin(context);
  MeteredRequest metered = Metered(*context, routing::Api::kPredict);
  auto slot = Enter(*context);
  if (!slot) return Refuse(context, deadlines_, metered, slot.error());
  auto read = inference::Request::Parse(rpc::ToPieces(*request));
  if (!read) return Refuse(context, deadlines_, metered, read.error());
  metered.SetModel(read->model_spec().name());
  routing::PredictCall call = ToCall(InfoOf(*context, metered), std::move(*read));
  auto* reactor =
      new Reactor<ByteBuffer>(context, response, deadlines_, sends_version(), std::move(metered), std::move(*slot));
  call.cancelled = reactor->cancelled();
  predictor_.Predict(std::move(call), [done = reactor->Done<Encoded>(),
                                       encoding = options_.encoding](Result<routing::PredictAnswer> answer) {
    FinishEncoded(std::move(answer), done,
                  [encoding](routing::PredictAnswer each) { return Encode(std::move(each), encoding); });
  });
  return reactor;
}

ServerUnaryReactor* PredictionService::GetModelMetadata(CallbackServerContext* context,
                                                        const tensorflow::serving::GetModelMetadataRequest* request,
                                                        tensorflow::serving::GetModelMetadataResponse* response) {
  Begin(context);
  const auto catalog = CatalogFor(*context, catalog_, options_.home);
  if (!catalog) return Refuse(context, deadlines_, tl::make_unexpected(catalog.error()));
  auto* reactor =
      new Reactor<tensorflow::serving::GetModelMetadataResponse>(context, response, deadlines_, sends_version());
  GetMetadata(**catalog, *request, SteadyDeadline(*context),
              reactor->Done<tensorflow::serving::GetModelMetadataResponse>());
  return reactor;
}

template <typename Request, typename Response>
ServerUnaryReactor* PredictionService::Infer(CallbackServerContext* context, const ByteBuffer& request,
                                             ByteBuffer* response, routing::Api api,
                                             InferMethod<Request, Response> method) const {
  Begin(context);
  MeteredRequest metered = Metered(*context, api);
  auto slot = Enter(*context);
  if (!slot) return Refuse(context, deadlines_, metered, slot.error());
  const Pieces bytes = rpc::ToPieces(request);
  Request message;
  const bool is_read = tensor::ParseMessage(bytes, &message);
  metered.SetModel(ModelOf(message));
  metered.SetExamples(ExampleCount(message.input()));
  if (!is_read) return Refuse(context, deadlines_, metered, inference::Malformed(message, bytes.size()));
  CallInfo info = InfoOf(*context, metered);
  auto* reactor =
      new Reactor<ByteBuffer>(context, response, deadlines_, sends_version(), std::move(metered), std::move(*slot));
  info.cancelled = reactor->cancelled();
  (calls_.*method)(std::move(info), std::move(message),
                   [done = reactor->template Done<Encoded>()](Result<Response> answer) {
                     FinishEncoded(std::move(answer), done, [](Response each) { return Encode(std::move(each)); });
                   });
  return reactor;
}

ServerUnaryReactor* PredictionService::Classify(CallbackServerContext* context, const ByteBuffer* request,
                                                ByteBuffer* response) {
  return Infer(context, *request, response, routing::Api::kClassify, &InferenceCalls::Classify);
}

ServerUnaryReactor* PredictionService::Regress(CallbackServerContext* context, const ByteBuffer* request,
                                               ByteBuffer* response) {
  return Infer(context, *request, response, routing::Api::kRegress, &InferenceCalls::Regress);
}

ServerUnaryReactor* PredictionService::MultiInference(CallbackServerContext* context, const ByteBuffer* request,
                                                      ByteBuffer* response) {
  return Infer(context, *request, response, routing::Api::kMultiInference, &InferenceCalls::MultiInference);
}

ServerUnaryReactor* ModelService::GetModelStatus(CallbackServerContext* context,
                                                 const tensorflow::serving::GetModelStatusRequest* request,
                                                 tensorflow::serving::GetModelStatusResponse* response) {
  if (auto spec = routing::CheckModelSpec(*request); !spec)
    return Refuse(context, deadlines_, tl::make_unexpected(spec.error()));
  const auto catalog = CatalogFor(*context, catalog_, home_);
  if (!catalog) return Refuse(context, deadlines_, tl::make_unexpected(catalog.error()));
  auto* reactor = new Reactor<tensorflow::serving::GetModelStatusResponse>(context, response, deadlines_, false);
  GetStatus(**catalog, request->model_spec(), SteadyDeadline(*context),
            reactor->Done<tensorflow::serving::GetModelStatusResponse>());
  return reactor;
}

ServerUnaryReactor* ModelService::HandleReloadConfigRequest(CallbackServerContext* context,
                                                            const tensorflow::serving::ReloadConfigRequest* request,
                                                            tensorflow::serving::ReloadConfigResponse* response) {
  if (!reload_) return Refuse(context, deadlines_, ManagedByController());
  if (request->metric_names_size() > 0) {
    return Refuse(context, deadlines_,
                  Unimplemented("metric_names is not supported: read the metrics before and after the reload"));
  }
  auto* reactor = new Reactor<tensorflow::serving::ReloadConfigResponse>(context, response, deadlines_, false);
  auto done = reactor->Done<tensorflow::serving::ReloadConfigResponse>();
  reload_(request->config(), SteadyDeadline(*context), [done = std::move(done)](const Status& status) {
    if (!status) return done(tl::make_unexpected(status.error()));
    done(tensorflow::serving::ReloadConfigResponse());
  });
  return reactor;
}

}  // namespace longshore::frontend
