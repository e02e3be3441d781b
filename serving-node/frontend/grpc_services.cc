#include "serving-node/frontend/grpc_services.h"

#include <grpcpp/server_context.h>

#include <atomic>
#include <memory>
#include <stop_token>
#include <vector>

#include "common/grpc/bytes.h"
#include "common/grpc/status.h"
#include "common/retry.h"
#include "serving-node/frontend/headers.h"
#include "serving-node/frontend/queries.h"
#include "serving-node/tensor/proto.h"

namespace longshore::frontend {
namespace {

using ::grpc::ByteBuffer;
using ::grpc::ServerContext;
using inference::ExampleCount;

ByteBuffer ToByteBuffer(const tensorflow::serving::PredictResponse& response) {
  const ::grpc::Slice slice(response.ByteSizeLong());
  response.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return ByteBuffer(&slice, 1);
}

std::chrono::steady_clock::time_point SteadyDeadline(const ServerContext& context) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return std::chrono::steady_clock::time_point::max();
  const auto left = deadline - std::chrono::system_clock::now();
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(left);
}

std::vector<std::pair<std::string, std::string>> HeadersOf(const ServerContext& context) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const auto& [name, value] : context.client_metadata()) {
    headers.emplace_back(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
  }
  return headers;
}

struct Encoded {
  tensorflow::serving::ModelSpec model_spec;
  ByteBuffer bytes;
};

Encoded Encode(routing::PredictAnswer answer, tensor::Encoding encoding) {
  if (!answer.serialized.empty()) return {std::move(answer.model_spec), rpc::ToByteBuffer(answer.serialized)};
  tensorflow::serving::PredictResponse response;
  *response.mutable_model_spec() = std::move(answer.model_spec);
  for (const auto& [name, tensor] : answer.outputs)
    tensor::ToProto(tensor, &(*response.mutable_outputs())[name], encoding);
  ByteBuffer bytes = ToByteBuffer(response);
  return {std::move(*response.mutable_model_spec()), std::move(bytes)};
}

const ByteBuffer& MessageOf(const Encoded& answer) { return answer.bytes; }
template <typename Message>
const Message& MessageOf(const Message& answer) {
  return answer;
}

const tensorflow::serving::ModelSpec& SpecOf(const Encoded& answer) { return answer.model_spec; }
const tensorflow::serving::ModelSpec& SpecOf(const tensorflow::serving::ReloadConfigResponse&) {
  return tensorflow::serving::ModelSpec::default_instance();
}
const tensorflow::serving::ModelSpec& SpecOf(const tensorflow::serving::GetModelStatusResponse&) {
  return tensorflow::serving::ModelSpec::default_instance();
}
const tensorflow::serving::ModelSpec& SpecOf(const tensorflow::serving::MultiInferenceResponse& answer) {
  return answer.results(0).model_spec();
}
template <typename Message>
const tensorflow::serving::ModelSpec& SpecOf(const Message& answer) {
  return answer.model_spec();
}

template <typename AnyCall>
void AddRetryHint(AnyCall& call) {
  call.context().AddTrailingMetadata(kRetryHeader, std::to_string(RetryAfterMs()));
}

// Requires: the call was claimed.
template <typename AnyCall>
void FinishWith(AnyCall& call, const Error& error) {
  if (MayRetry(error)) AddRetryHint(call);
  call.Finish(rpc::ToGrpc(error));
}

// Answers the call: once, on any thread, however late. A run goes on when its call was cancelled, and keeps its place.
template <typename AnyCall>
class Answering {
 public:
  explicit Answering(AnyCall& call) : call_(call), ticket_(call.ticket()), place_(std::move(call.state().place)) {}

  template <typename Answer>
  void operator()(Result<Answer> answer) {
    place_.reset();
    if (!AnyCall::Claim(ticket_)) return;
    const CallState& state = call_.state();
    if (!answer) {
      state.metered.End(answer.error().code, {});
      return FinishWith(call_, answer.error());
    }
    const auto& spec = SpecOf(*answer);
    state.metered.End(Code::kOk, spec);
    if (state.tells_version && spec.has_version()) {
      call_.context().AddInitialMetadata(kVersionHeader, std::to_string(spec.version().value()));
    }
    call_.Finish(MessageOf(*answer));
  }

 private:
  AnyCall& call_;
  const typename AnyCall::Ticket ticket_;
  InFlight::Place place_;
};

template <typename Answer, typename AnyCall>
std::function<void(Result<Answer>)> DoneOf(AnyCall& call) {
  return Answering<AnyCall>(call);
}

// Before anybody else knows of the call.
template <typename AnyCall>
void Refuse(AnyCall& call, const Error& error) {
  if (!AnyCall::Claim(call.ticket())) return;
  call.state().metered.End(error.code, {});
  FinishWith(call, error);
}

// RequestX of a service, to be called with what a call brings.
template <typename Service, typename Base, typename... Arguments>
auto AskOf(Service& service, void (Base::*request)(Arguments...)) {
  return [&service, request](Arguments... arguments) { (service.*request)(arguments...); };
}

// How many calls of a kind wait in each queue: those that come when none does cost gRPC a little more.
constexpr int kPredictionsWaiting = 64;
constexpr int kOthersWaiting = 4;

}  // namespace

PredictionService::PredictionService(routing::Predictor& predictor, const Catalog& catalog, Options options)
    : predictor_(predictor),
      catalog_(catalog),
      calls_(predictor, catalog, options.check_method_names),
      options_(std::move(options)),
      predict_{AskOf(service_, &Service::RequestPredict), [this](auto& call) { Predict(call); }},
      classify_{AskOf(service_, &Service::RequestClassify),
                [this](auto& call) {
                  Infer(call, routing::Api::kClassify, call.request().model_spec().name(), &InferenceCalls::Classify);
                }},
      regress_{AskOf(service_, &Service::RequestRegress),
               [this](auto& call) {
                 Infer(call, routing::Api::kRegress, call.request().model_spec().name(), &InferenceCalls::Regress);
               }},
      multi_inference_{AskOf(service_, &Service::RequestMultiInference),
                       [this](auto& call) {
                         const auto& tasks = call.request().tasks();
                         Infer(call, routing::Api::kMultiInference, tasks.empty() ? "" : tasks[0].model_spec().name(),
                               &InferenceCalls::MultiInference);
                       }},
      metadata_{AskOf(service_, &Service::RequestGetModelMetadata), [this](auto& call) { GetModelMetadata(call); }} {}

void PredictionService::Await(rpc::CallQueue& queue) const {
  PredictCall::Await(predict_, queue, kPredictionsWaiting);
  ClassifyCall::Await(classify_, queue, kOthersWaiting);
  RegressCall::Await(regress_, queue, kOthersWaiting);
  MultiCall::Await(multi_inference_, queue, kOthersWaiting);
  MetadataCall::Await(metadata_, queue, kOthersWaiting);
}

// In a fleet an answer says whose it is.
template <typename AnyCall>
void PredictionService::Greet(AnyCall& call) const {
  if (options_.node.empty()) return;
  call.context().AddInitialMetadata(kNodeHeader, options_.node);
  call.state().tells_version = true;
}

// False: there is no place, which the client was told.
template <typename AnyCall>
bool PredictionService::Enter(AnyCall& call) const {
  Greet(call);
  if (options_.in_flight == nullptr) return true;
  call.state().place = options_.in_flight->Enter();
  if (call.state().place != nullptr) return true;
  AddRetryHint(call);
  Refuse(call, NoPlace());
  return false;
}

MeteredRequest PredictionService::Metered(routing::Api api, const std::string& model, int64_t examples) const {
  MeteredRequest metered;
  if (options_.meter != nullptr) metered = options_.meter->Begin(api, options_.protocol, model);
  metered.SetExamples(examples);
  return metered;
}

CallInfo PredictionService::InfoOf(const ServerContext& context) const {
  return {.headers = HeadersOf(context), .deadline = SteadyDeadline(context), .protocol = options_.protocol};
}

void PredictionService::Predict(PredictCall& call) const {
  MeteredRequest& metered = call.state().metered;
  metered = Metered(routing::Api::kPredict, "");
  if (!Enter(call)) return;
  routing::PredictCall asked = ToCall(InfoOf(call.context()), {});
  asked.serialized = rpc::ToBytes(call.request());
  const bool is_read = asked.request.ParseFromString(asked.serialized);
  metered.SetModel(asked.request.model_spec().name());
  if (!is_read) {
    return Refuse(call, InvalidArgument("{} bytes are no PredictRequest", asked.serialized.size()).value());
  }
  asked.cancelled = call.cancelled();
  predictor_.Predict(std::move(asked), [answering = Answering(call),
                                        encoding = options_.encoding](Result<routing::PredictAnswer> answer) mutable {
    // Also on a thread of the engine, so that nobody else catches what is thrown.
    try {
      answering(std::move(answer).map([encoding](auto&& good) { return Encode(std::move(good), encoding); }));
    } catch (const std::bad_alloc&) {
      answering(Result<Encoded>(ResourceExhausted("memory does not suffice for this request")));
    }
  });
}

void PredictionService::GetModelMetadata(MetadataCall& call) const {
  Greet(call);
  GetMetadata(catalog_, call.request(), SteadyDeadline(call.context()),
              DoneOf<tensorflow::serving::GetModelMetadataResponse>(call));
}

template <typename Request, typename Response>
void PredictionService::Infer(Call<Request, Response>& call, routing::Api api, const std::string& model,
                              InferMethod<Request, Response> method) const {
  call.state().metered = Metered(api, model, ExampleCount(call.request().input()));
  if (!Enter(call)) return;
  CallInfo info = InfoOf(call.context());
  info.cancelled = call.cancelled();
  (calls_.*method)(std::move(info), call.request(), DoneOf<Response>(call));
}

ModelService::ModelService(const Catalog& catalog, ReloadFunction reload)
    : catalog_(catalog),
      reload_(std::move(reload)),
      status_{AskOf(service_, &tensorflow::serving::ModelService::AsyncService::RequestGetModelStatus),
              [this](auto& call) { GetModelStatus(call); }},
      reload_config_{
          AskOf(service_, &tensorflow::serving::ModelService::AsyncService::RequestHandleReloadConfigRequest),
          [this](auto& call) { HandleReloadConfigRequest(call); }} {}

void ModelService::Await(rpc::CallQueue& queue) const {
  StatusCall::Await(status_, queue, kOthersWaiting);
  ReloadCall::Await(reload_config_, queue, kOthersWaiting);
}

void ModelService::GetModelStatus(StatusCall& call) const {
  const auto done = DoneOf<tensorflow::serving::GetModelStatusResponse>(call);
  if (auto spec = routing::CheckModelSpec(call.request()); !spec) return done(tl::make_unexpected(spec.error()));
  done(GetStatus(catalog_, call.request().model_spec()));
}

void ModelService::HandleReloadConfigRequest(ReloadCall& call) const {
  auto done = DoneOf<tensorflow::serving::ReloadConfigResponse>(call);
  if (!reload_) {
    return done(
        FailedPrecondition("the models of this node are managed by a controller: change the Model objects instead"));
  }
  if (call.request().metric_names_size() > 0) {
    return done(Unimplemented("metric_names is not supported: read the metrics before and after the reload"));
  }
  reload_(call.request().config(), SteadyDeadline(call.context()), [done = std::move(done)](const Status& status) {
    if (!status) return done(tl::make_unexpected(status.error()));
    done(tensorflow::serving::ReloadConfigResponse());
  });
}

}  // namespace longshore::frontend
