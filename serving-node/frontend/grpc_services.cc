#include "serving-node/frontend/grpc_services.h"

#include <grpcpp/server_context.h>

#include <atomic>
#include <memory>
#include <stop_token>
#include <vector>

#include "common/net/grpc/bytes.h"
#include "common/net/grpc/status.h"
#include "common/net/http/retry.h"
#include "serving-node/frontend/headers.h"
#include "serving-node/frontend/queries.h"
#include "serving-node/routing/hop.h"
#include "serving-node/tensor/proto.h"

namespace longshore::frontend {
namespace {

using ::grpc::ByteBuffer;
using ::grpc::CallbackServerContext;
using ::grpc::ServerUnaryReactor;
using inference::ExampleCount;
using std::chrono::system_clock;

ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& response) {
  const ::grpc::Slice slice(response.ByteSizeLong());
  response.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return ByteBuffer(&slice, 1);
}

std::chrono::steady_clock::time_point SteadyDeadline(const CallbackServerContext& context) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return std::chrono::steady_clock::time_point::max();
  const auto left = deadline - std::chrono::system_clock::now();
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(left);
}

routing::Headers HeadersOf(const CallbackServerContext& context) {
  routing::Headers headers;
  for (const auto& [name, value] : context.client_metadata()) {
    headers.emplace_back(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
  }
  return headers;
}

struct Encoded {
  tensorflow::serving::ModelSpec model_spec;
  ByteBuffer bytes;
};

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
  if (!answer.serialized.empty()) return {std::move(answer.model_spec), rpc::ToByteBuffer(answer.serialized)};
  tensorflow::serving::PredictResponse response;
  *response.mutable_model_spec() = std::move(answer.model_spec);
  for (const auto& [name, tensor] : answer.outputs)
    tensor::ToProto(tensor, &(*response.mutable_outputs())[name], encoding);
  ByteBuffer bytes = ToByteBuffer(response);
  return {std::move(*response.mutable_model_spec()), std::move(bytes)};
}

template <typename Response>
Encoded Encode(Response response) {
  ByteBuffer bytes = ToByteBuffer(response);
  return {SpecOf(response), std::move(bytes)};
}

size_t BytesOf(const Encoded& answer) { return answer.bytes.Length(); }
size_t BytesOf(const google::protobuf::MessageLite& answer) { return answer.ByteSizeLong(); }

void Write(Encoded answer, ByteBuffer* response) { *response = std::move(answer.bytes); }
template <typename Message>
void Write(Message answer, Message* response) {
  *response = std::move(answer);
}

void AddRetryHint(CallbackServerContext* context) {
  context->AddTrailingMetadata(kRetryHeader, std::to_string(http::RetryAfterMs()));
}

// Returns why a call ended before its answer: gRPC does not say whether the client cancelled it or its deadline passed.
//
// A client ends a call at its own deadline, which is a little earlier than the one that this node computes: gRPC rounds
// the time left up by at most a hundredth when it sends it, and the request may have been delayed on its way.
Error WhyEnded(system_clock::time_point began, system_clock::time_point deadline, system_clock::time_point now) {
  constexpr int kRounding = 64;
  constexpr auto kDelay = std::chrono::milliseconds(10);
  const bool late = now >= deadline || deadline - now <= (deadline - began) / kRounding + kDelay;
  if (late) return {Code::kDeadlineExceeded, "the deadline of the request passed"};
  return {Code::kCancelled, "the client cancelled the request"};
}

// Handles one call. Either the client's cancellation or the answer finishes the call, whichever comes first. An answer
// after a cancellation must read nothing but `finished`, because the context may be destroyed. The object deletes
// itself at the end of the call: when the answer is written or the connection is closed. If the client does not read
// the answer, AnswerDeadlines cancels the call.
template <typename Response>
class Reactor final : public ServerUnaryReactor {
 public:
  // If `sends_version`, the number of the version that answered is sent as x-longshore-version.
  Reactor(CallbackServerContext* context, Response* response, AnswerDeadlines& deadlines, bool sends_version,
          MeteredRequest metered = {}, InFlight::Slot slot = {})
      : context_(context),
        response_(response),
        sends_version_(sends_version),
        metered_(std::move(metered)),
        slot_(std::move(slot)),
        written_(deadlines) {}

  template <typename Answer>
  std::function<void(Result<Answer>)> Done() {
    // If the call is cancelled, its run continues, and the run keeps the in-flight slot until it ends.
    return [this, finished = finished_, slot = slot_](Result<Answer> answer) mutable {
      slot.reset();
      if (!finished->exchange(true)) Take(std::move(answer));
    };
  }

  // Returns a token by which a stop is requested when the client cancels or disconnects.
  std::stop_token cancelled() const { return cancelled_.get_token(); }

  void OnCancel() override {
    std::stop_source cancelled = cancelled_;  // A copy, because the end of the call may delete this object.
    if (!finished_->exchange(true)) {
      const Error error = WhyEnded(began_, context_->deadline(), system_clock::now());
      metered_.End(error.code, {});
      Finish(rpc::ToGrpc(error));
    }
    cancelled.request_stop();
  }
  void OnDone() override { delete this; }

 private:
  template <typename Answer>
  void Take(Result<Answer> answer) {
    const size_t bytes = answer ? BytesOf(*answer) : 0;
    if (answer && slot_) {
      if (const Status held = slot_->HoldAnswer(bytes); !held) answer = tl::make_unexpected(held.error());
    }
    metered_.End(answer ? Code::kOk : answer.error().code,
                 answer ? SpecOf(*answer) : tensorflow::serving::ModelSpec::default_instance());
    if (!answer) {
      if (MayRetry(answer.error())) AddRetryHint(context_);
      return Finish(rpc::ToGrpc(answer.error()));
    }
    if (sends_version_ && SpecOf(*answer).has_version()) {
      context_->AddInitialMetadata(kVersionHeader, std::to_string(SpecOf(*answer).version().value()));
    }
    Write(std::move(*answer), response_);
    written_.Begin(context_->c_call(), bytes);
    Finish(::grpc::Status::OK);
  }

  CallbackServerContext* const context_;
  Response* const response_;
  const bool sends_version_;
  const system_clock::time_point began_ = system_clock::now();
  const MeteredRequest metered_;
  const InFlight::Slot slot_;
  AnswerDeadlines::Answer written_;
  const std::shared_ptr<std::atomic<bool>> finished_ = std::make_shared<std::atomic<bool>>(false);
  std::stop_source cancelled_;
};

// Calls `done` with the encoded answer or with its error. May run on a thread of the engine, which catches no
// exceptions.
template <typename Answer, typename ToEncoded>
void FinishEncoded(Result<Answer> answer, const std::function<void(Result<Encoded>)>& done, const ToEncoded& encode) {
  if (!answer) return done(tl::make_unexpected(answer.error()));
  try {
    done(encode(std::move(*answer)));
  } catch (const std::bad_alloc&) {
    done(ResourceExhausted("memory does not suffice for this request"));
  }
}

ServerUnaryReactor* Refuse(CallbackServerContext* context, const tl::unexpected<Error>& error) {
  ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(rpc::ToGrpc(error.value()));
  return reactor;
}

tl::unexpected<Error> Malformed(const google::protobuf::MessageLite& request, size_t bytes) {
  const std::string type = request.GetTypeName();
  return InvalidArgument("malformed {} ({} bytes)", type.substr(type.rfind('.') + 1), bytes);
}

// Rejects a request that got no in-flight slot.
ServerUnaryReactor* Refuse(CallbackServerContext* context, const MeteredRequest& metered, const Error& error) {
  metered.End(error.code, {});
  AddRetryHint(context);
  return Refuse(context, tl::make_unexpected(error));
}

// Returns the catalog that answers the query. Unavailable if the query comes from a node of another fleet.
Result<const Catalog*> CatalogFor(const CallbackServerContext& context, const Catalog& catalog, const HomeNode& home) {
  if (home.catalog == nullptr) return &catalog;
  ASSIGN_OR_RETURN(const bool to_home, routing::IsToHome(HeadersOf(context), home.fleet));
  return to_home ? home.catalog : &catalog;
}

// Returns the name of the connection for InFlight. It is "" if many clients share the name (a unix socket) or the
// connection (a peer).
std::string ConnectionOf(const CallbackServerContext& context, routing::Protocol protocol) {
  if (protocol == routing::Protocol::kPeer) return {};
  std::string peer = context.peer();
  return peer.starts_with("unix:") ? std::string() : peer;
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
MeteredRequest PredictionService::Metered(routing::Api api) const {
  return options_.meter == nullptr ? MeteredRequest() : options_.meter->Begin(api, options_.protocol, "");
}

CallInfo PredictionService::InfoOf(const CallbackServerContext& context) const {
  return {.headers = HeadersOf(context), .deadline = SteadyDeadline(context), .protocol = options_.protocol};
}

ServerUnaryReactor* PredictionService::Predict(CallbackServerContext* context, const ByteBuffer* request,
                                               ByteBuffer* response) {
  Begin(context);
  MeteredRequest metered = Metered(routing::Api::kPredict);
  auto slot = Enter(*context);
  if (!slot) return Refuse(context, metered, slot.error());
  routing::PredictCall call = ToCall(InfoOf(*context), {});
  call.serialized = rpc::ToBytes(*request);
  const bool is_read = call.request.ParseFromString(call.serialized);
  metered.SetModel(call.request.model_spec().name());
  if (!is_read) {
    metered.End(Code::kInvalidArgument, {});
    return Refuse(context, Malformed(call.request, call.serialized.size()));
  }
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
  if (!catalog) return Refuse(context, tl::make_unexpected(catalog.error()));
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
  MeteredRequest metered = Metered(api);
  auto slot = Enter(*context);
  if (!slot) return Refuse(context, metered, slot.error());
  const std::string bytes = rpc::ToBytes(request);
  Request message;
  const bool is_read = message.ParseFromString(bytes);
  metered.SetModel(ModelOf(message));
  metered.SetExamples(ExampleCount(message.input()));
  if (!is_read) {
    metered.End(Code::kInvalidArgument, {});
    return Refuse(context, Malformed(message, bytes.size()));
  }
  auto* reactor =
      new Reactor<ByteBuffer>(context, response, deadlines_, sends_version(), std::move(metered), std::move(*slot));
  CallInfo info = InfoOf(*context);
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
  if (auto spec = routing::CheckModelSpec(*request); !spec) return Refuse(context, tl::make_unexpected(spec.error()));
  const auto catalog = CatalogFor(*context, catalog_, home_);
  if (!catalog) return Refuse(context, tl::make_unexpected(catalog.error()));
  auto* reactor = new Reactor<tensorflow::serving::GetModelStatusResponse>(context, response, deadlines_, false);
  GetStatus(**catalog, request->model_spec(), SteadyDeadline(*context),
            reactor->Done<tensorflow::serving::GetModelStatusResponse>());
  return reactor;
}

ServerUnaryReactor* ModelService::HandleReloadConfigRequest(CallbackServerContext* context,
                                                            const tensorflow::serving::ReloadConfigRequest* request,
                                                            tensorflow::serving::ReloadConfigResponse* response) {
  if (!reload_) {
    return Refuse(
        context,
        FailedPrecondition("the models of this node are managed by a controller: change the Model objects instead"));
  }
  if (request->metric_names_size() > 0) {
    return Refuse(context,
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
