#include "serving-node/frontend/grpc_services.h"

#include <grpcpp/server_context.h>

#include <atomic>
#include <memory>
#include <vector>

#include "common/grpc/bytes.h"
#include "common/grpc/status.h"
#include "serving-node/frontend/headers.h"
#include "serving-node/frontend/queries.h"
#include "serving-node/tensor/proto.h"

namespace longshore::frontend {
namespace {

using ::grpc::ByteBuffer;
using ::grpc::CallbackServerContext;
using ::grpc::ServerUnaryReactor;

ByteBuffer ToByteBuffer(const tensorflow::serving::PredictResponse& response) {
  const ::grpc::Slice slice(response.ByteSizeLong());
  response.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return ByteBuffer(&slice, 1);
}

ByteBuffer Encode(const routing::PredictAnswer& answer) {
  if (!answer.serialized.empty()) return rpc::ToByteBuffer(answer.serialized);
  tensorflow::serving::PredictResponse response;
  *response.mutable_model_spec() = answer.model_spec;
  for (const auto& [name, tensor] : answer.outputs) tensor::ToProto(tensor, &(*response.mutable_outputs())[name]);
  return ToByteBuffer(response);
}

std::chrono::steady_clock::time_point SteadyDeadline(const CallbackServerContext& context) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return std::chrono::steady_clock::time_point::max();
  const auto left = deadline - std::chrono::system_clock::now();
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(left);
}

std::vector<std::pair<std::string, std::string>> HeadersOf(const CallbackServerContext& context) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const auto& [name, value] : context.client_metadata()) {
    headers.emplace_back(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
  }
  return headers;
}

// One Predict. The client's cancellation and the predictor's answer race: the first of them finishes the call, and
// an answer that comes later finds the context gone, so it may look at nothing but `finished`.
class PredictReactor final : public ServerUnaryReactor {
 public:
  PredictReactor(CallbackServerContext* context, ByteBuffer* response) : context_(context), response_(response) {}

  routing::PredictDone Done() {
    return [this, finished = finished_](Result<routing::PredictAnswer> answer) {
      if (!finished->exchange(true)) Answer(std::move(answer));
    };
  }

  void OnCancel() override {
    if (!finished_->exchange(true)) Finish({::grpc::StatusCode::CANCELLED, "the client cancelled the request"});
  }
  void OnDone() override { delete this; }

 private:
  void Answer(Result<routing::PredictAnswer> answer) {
    if (!answer) return Finish(rpc::ToGrpc(answer.error()));
    if (answer->model_spec.has_version()) {
      context_->AddInitialMetadata(kVersionHeader, std::to_string(answer->model_spec.version().value()));
    }
    *response_ = Encode(*answer);
    Finish(::grpc::Status::OK);
  }

  CallbackServerContext* const context_;
  ByteBuffer* const response_;
  const std::shared_ptr<std::atomic<bool>> finished_ = std::make_shared<std::atomic<bool>>(false);
};

template <typename Message>
void Finish(ServerUnaryReactor* reactor, Result<Message> answer, Message* response) {
  if (answer) *response = std::move(*answer);
  reactor->Finish(answer ? ::grpc::Status::OK : rpc::ToGrpc(answer.error()));
}

ServerUnaryReactor* Refuse(CallbackServerContext* context, const tl::unexpected<Error>& error) {
  ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(rpc::ToGrpc(error.value()));
  return reactor;
}

}  // namespace

ServerUnaryReactor* PredictionService::Predict(CallbackServerContext* context, const ByteBuffer* request,
                                               ByteBuffer* response) {
  if (!node_.empty()) context->AddInitialMetadata(kNodeHeader, node_);
  routing::PredictCall call;
  call.serialized = rpc::ToBytes(*request);
  if (!call.request.ParseFromString(call.serialized)) {
    return Refuse(context, InvalidArgument("{} bytes are no PredictRequest", call.serialized.size()));
  }
  call.headers = HeadersOf(*context);
  call.deadline = SteadyDeadline(*context);
  call.protocol = protocol_;
  auto* reactor = new PredictReactor(context, response);  // Deletes itself when the call is over.
  predictor_.Predict(std::move(call), reactor->Done());
  return reactor;
}

ServerUnaryReactor* PredictionService::GetModelMetadata(CallbackServerContext* context,
                                                        const tensorflow::serving::GetModelMetadataRequest* request,
                                                        tensorflow::serving::GetModelMetadataResponse* response) {
  ServerUnaryReactor* reactor = context->DefaultReactor();
  GetMetadata(catalog_, *request, SteadyDeadline(*context),
              [reactor, response](Result<tensorflow::serving::GetModelMetadataResponse> answer) {
                Finish(reactor, std::move(answer), response);
              });
  return reactor;
}

ServerUnaryReactor* PredictionService::Classify(CallbackServerContext* context,
                                                const tensorflow::serving::ClassificationRequest*,
                                                tensorflow::serving::ClassificationResponse*) {
  return Refuse(context, Unimplemented("Classify is not supported: use Predict with the signature's input tensors"));
}

ServerUnaryReactor* PredictionService::Regress(CallbackServerContext* context,
                                               const tensorflow::serving::RegressionRequest*,
                                               tensorflow::serving::RegressionResponse*) {
  return Refuse(context, Unimplemented("Regress is not supported: use Predict with the signature's input tensors"));
}

ServerUnaryReactor* PredictionService::MultiInference(CallbackServerContext* context,
                                                      const tensorflow::serving::MultiInferenceRequest*,
                                                      tensorflow::serving::MultiInferenceResponse*) {
  return Refuse(context, Unimplemented("MultiInference is not supported: use one Predict per signature"));
}

ServerUnaryReactor* ModelService::GetModelStatus(CallbackServerContext* context,
                                                 const tensorflow::serving::GetModelStatusRequest* request,
                                                 tensorflow::serving::GetModelStatusResponse* response) {
  if (!request->has_model_spec()) return Refuse(context, InvalidArgument("Missing ModelSpec"));
  ServerUnaryReactor* reactor = context->DefaultReactor();
  Finish(reactor, GetStatus(catalog_, request->model_spec()), response);
  return reactor;
}

ServerUnaryReactor* ModelService::HandleReloadConfigRequest(CallbackServerContext* context,
                                                            const tensorflow::serving::ReloadConfigRequest*,
                                                            tensorflow::serving::ReloadConfigResponse*) {
  if (managed_) {
    return Refuse(context, FailedPrecondition("the models of this node are managed by a controller: change the Model objects instead"));
  }
  return Refuse(context, Unimplemented("reloading the configuration is not supported: restart with other flags"));
}

}  // namespace longshore::frontend
