#include "serving-node/frontend/oip/rest.h"

#include <charconv>
#include <optional>
#include <utility>

#include "common/json/json.h"
#include "common/net/http/header_values.h"
#include "serving-node/frontend/json/reader.h"
#include "serving-node/frontend/oip/codec/json_request.h"
#include "serving-node/frontend/oip/codec/json_response.h"
#include "serving-node/frontend/oip/codec/message_json.h"
#include "serving-node/frontend/oip/settings.h"

namespace longshore::frontend::oip {
namespace {

using codec::MessageToJson;
using codec::Unset;
using http::Request;
using http::Responder;
using http::Response;
using Kind = Route::Kind;

// The size of the JSON in a body in which bytes follow it. Requests and answers have the same header.
constexpr const char* kHeaderLength = "inference-header-content-length";
constexpr const char* kBinary = "application/octet-stream";

// Triton answers 400 where TensorFlow Serving's API answers 501.
Response ErrorOf(const Error& error) {
  Response response = ErrorResponse(error);
  if (error.code == Code::kUnimplemented) response.status = 400;
  return response;
}

Response AnswerOf(Result<std::string> body) {
  if (!body) return ErrorOf(body.error());
  return {.body = std::move(*body)};
}

Response Failed(int status, const Error& error) {
  Response response = ErrorResponse(error);
  response.status = status;
  return response;
}

template <typename Message>
Result<std::string> ToText(const Result<Message>& message) {
  return message.map([](const Message& each) { return MessageToJson(each); });
}

// Returns the size of the JSON if the request has the header; without it, the whole body is JSON, whatever its type is
// (Triton's GetInferenceHeaderLength). InvalidArgument if the header is not one number.
Result<std::optional<size_t>> JsonBytesOf(const Request& request) {
  const auto values = http::ValuesOf(request.headers, kHeaderLength);
  if (values.size() > 1) return InvalidArgument("the header {} occurs more than once", kHeaderLength);
  const std::string_view text = values.empty() ? "" : values.front();
  if (text.empty()) return std::optional<size_t>();
  size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error == std::errc{} && end == text.data() + text.size()) return std::optional(size);
  return InvalidArgument("Unable to parse {}, got: {}", kHeaderLength, json::Shown(text));
}

Result<Inferred> ToInferred(Result<Answered> answer) {
  if (!answer) return tl::make_unexpected(answer.error());
  ASSIGN_OR_RETURN(codec::InferBody body, codec::ToBody(answer->answer));
  Inferred inferred{.body = std::move(body.bytes), .spec = std::move(answer->model_spec)};
  if (body.json_bytes) {
    inferred.content_type = kBinary;
    inferred.headers.emplace_back(kHeaderLength, std::to_string(*body.json_bytes));
  }
  return inferred;
}

// The body of a request that is not an inference. InvalidArgument if it is not a JSON object.
Result<Json> SmallBody(const std::string& body) {
  if (body.empty()) return Json::object();
  ASSIGN_OR_RETURN(Json json, ParseJson(body));
  if (!json.is_object()) return InvalidArgument("the request is not a JSON object");
  return json;
}

// Reads {"ready": true}, the filter of the index.
Result<::inference::RepositoryIndexRequest> IndexRequestFrom(const std::string& body) {
  ::inference::RepositoryIndexRequest request;
  ASSIGN_OR_RETURN(const Json json, SmallBody(body));
  const auto ready = json.find("ready");
  if (ready == json.end()) return request;
  if (!ready->is_boolean()) return InvalidArgument("'ready' is not a boolean");
  request.set_ready(ready->get<bool>());
  return request;
}

std::string IndexToJson(const ::inference::RepositoryIndexResponse& index) {
  std::string json = "[";
  for (const auto& model : index.models()) {
    if (json.size() > 1) json.push_back(',');
    json.append(MessageToJson(model, Unset::kOmit));
  }
  return json.append("]");
}

// Reads the names of the parameters of {"parameters": {...}}; their values do not matter, because none is supported.
template <typename Message>
Result<Message> RepositoryRequestFrom(const Request& http_request, const Route& route) {
  Message request;
  request.set_repository_name(route.repository);
  request.set_model_name(route.model);
  ASSIGN_OR_RETURN(const Json json, SmallBody(http_request.body));
  const auto parameters = json.find("parameters");
  if (parameters == json.end()) return request;
  if (!parameters->is_object()) return InvalidArgument("'parameters' is not a JSON object");
  for (const auto& [name, unused] : parameters->items()) (*request.mutable_parameters())[name];
  return request;
}

std::string ReadyToJson(const std::string& model, bool ready) {
  return DumpJson(Json{{"name", model}, {"ready", ready}});
}

// The errors of a path or a method that does not exist.
Response NoSuchRoute(Kind kind) {
  if (kind == Kind::kWrongMethod) return Failed(405, {Code::kUnimplemented, "Method Not Allowed"});
  return Failed(404, {Code::kNotFound, "Not Found"});
}

Response AnswerSettings(const Methods& methods, const Request& request, Kind kind) {
  const auto log = [&methods](const ::inference::LogSettingsRequest& settings) {
    return methods.LogSettings(settings);
  };
  switch (kind) {
    case Kind::kTraceSettings: return AnswerOf(TraceSettings({}).map(TraceToJson));
    case Kind::kUpdateTraceSettings:
      return AnswerOf(TraceRequestFromJson(request.body).and_then(TraceSettings).map(TraceToJson));
    case Kind::kLogSettings: return AnswerOf(log({}).map(LogToJson));
    default: return AnswerOf(LogRequestFromJson(request.body).and_then(log).map(LogToJson));
  }
}

bool IsOfSettings(Kind kind) {
  return kind == Kind::kTraceSettings || kind == Kind::kUpdateTraceSettings || kind == Kind::kLogSettings ||
         kind == Kind::kUpdateLogSettings;
}

// Returns the answer 413 if the body is too large for a request that is not an inference.
std::optional<Response> RefuseLargeBody(const Request& request, Kind kind) {
  const bool is_settings = IsOfSettings(kind);
  const size_t bytes_max = is_settings ? size_t{64} << 10 : size_t{1} << 20;
  if (kind == Kind::kInfer || request.body.size() <= bytes_max) return std::nullopt;
  const std::string what = is_settings ? "the settings have" : "the request has";
  return Failed(413, {Code::kInvalidArgument, fmt::format("{} more than {} bytes", what, bytes_max)});
}

bool ChangesNode(Kind kind) {
  return kind == Kind::kLoad || kind == Kind::kUnload || kind == Kind::kUpdateTraceSettings ||
         kind == Kind::kUpdateLogSettings;
}

// Returns whether a page of another web site sends the request. Browsers add the header `Origin` to every POST, and
// they send a POST with the type text/plain to other sites without asking them first.
bool IsOfOtherOrigin(const Request& request) {
  const std::string_view origin = request.Header("origin");
  if (origin.empty()) return false;
  const size_t scheme = origin.find("://");
  return scheme == origin.npos || origin.substr(scheme + 3) != request.Header("host");
}

Error OtherOrigin() {
  return {Code::kPermissionDenied,
          "the header Origin names another web site than this server: its pages may not change this server, unless "
          "the server runs with --rest_api_enable_cors_support"};
}

}  // namespace

std::string Rest::BodyHeader() const { return "Inference-Header-Content-Length"; }

auth::Scope Rest::ScopeOf(std::string_view method, std::string_view target) const {
  const Kind kind = ParseOipRoute(method, target).kind;
  const bool is_admins = kind == Kind::kLoad || kind == Kind::kUnload || IsOfSettings(kind);
  return is_admins ? auth::Scope::kAdmin : auth::Scope::kPredict;
}

void Rest::Handle(Request request, Responder respond) {
  const Route route = ParseOipRoute(request.method, request.target);
  if (ChangesNode(route.kind) && !options_.cors && IsOfOtherOrigin(request)) return respond(ErrorOf(OtherOrigin()));
  if (auto refusal = RefuseLargeBody(request, route.kind)) return respond(std::move(*refusal));
  switch (route.kind) {
    case Kind::kUnknown:
    case Kind::kWrongMethod: return respond(NoSuchRoute(route.kind));
    case Kind::kServerMetadata: return respond({.body = MessageToJson(methods_.ServerMetadata())});
    case Kind::kServerLive: return respond({.body = R"({"live":true})"});
    case Kind::kServerReady:
      if (methods_.ServerReady()) return respond({.body = R"({"ready":true})"});
      return respond(Failed(400, {Code::kUnavailable, "Server not ready"}));
    case Kind::kInfer: return Infer(std::move(request), route, respond);
    case Kind::kTraceSettings:
    case Kind::kUpdateTraceSettings:
    case Kind::kLogSettings:
    case Kind::kUpdateLogSettings: return respond(AnswerSettings(methods_, request, route.kind));
    // No region can be registered, so the list of regions is empty, and there is nothing to unregister.
    case Kind::kSharedMemoryStatus: return respond({.body = "[]"});
    case Kind::kSharedMemoryRegister: return respond(ErrorOf(Methods::NoRegions()));
    case Kind::kSharedMemoryUnregister: return respond({});
    case Kind::kRepositoryIndex:
    case Kind::kLoad:
    case Kind::kUnload: return AnswerRepository(request, route, respond);
    default: return AnswerModel(route, respond);
  }
}

void Rest::AnswerModel(const Route& route, const Responder& respond) const {
  const ModelName model{route.model, route.version};
  switch (route.kind) {
    case Kind::kModelReady:
      return methods_.ModelReady(model, Deadline(), [respond, name = model.name](const Result<bool>& ready) {
        if (!ready) return respond(ErrorOf(ready.error()));
        if (!*ready) return respond(Failed(400, {Code::kUnavailable, "Model version not ready"}));
        respond({.body = ReadyToJson(name, true)});
      });
    case Kind::kModelMetadata:
      return methods_.ModelMetadata(model, Deadline(),
                                    [respond](const auto& answer) { respond(AnswerOf(ToText(answer))); });
    case Kind::kModelConfig:
      return methods_.ModelConfig(model, Deadline(),
                                  [respond](const auto& answer) { respond(AnswerOf(ToText(answer))); });
    default: return respond(AnswerOf(ToText(methods_.Statistics(model))));
  }
}

void Rest::AnswerRepository(const Request& request, const Route& route, const Responder& respond) const {
  const auto answer = [respond](const Status& status) { respond(status ? Response{} : ErrorOf(status.error())); };
  if (route.kind == Kind::kLoad) {
    const auto load = RepositoryRequestFrom<::inference::RepositoryModelLoadRequest>(request, route);
    return load ? methods_.Load(*load, Deadline(), answer) : answer(tl::make_unexpected(load.error()));
  }
  if (route.kind == Kind::kUnload) {
    const auto unload = RepositoryRequestFrom<::inference::RepositoryModelUnloadRequest>(request, route);
    return unload ? methods_.Unload(*unload, answer) : answer(tl::make_unexpected(unload.error()));
  }
  auto index = IndexRequestFrom(request.body);
  if (index) index->set_repository_name(route.repository);
  const auto found = index.and_then([this](const auto& each) { return methods_.Index(each); });
  respond(AnswerOf(found.map(IndexToJson)));
}

// Takes an in-flight slot before it parses the body.
void Rest::Infer(Request request, const Route& route, const Responder& respond) {
  Result<InFlight::Slot> slot;
  if (options_.in_flight != nullptr) slot = options_.in_flight->Enter();
  MeteredRequest metered;
  if (options_.meter != nullptr) {
    metered = options_.meter->Begin(routing::Api::kPredict, routing::Protocol::kOipRest, route.model,
                                    {.service = "", .method = "POST", .route = "/v2/models/{model}/infer"},
                                    [&request] { return ParentOf(request.headers); });
  }
  const Reply reply(respond, std::move(metered), slot.value_or(nullptr));
  if (!slot) return reply.RefuseWithRetry(slot.error());
  reply.Guard([&] { Run(std::move(request), route, reply); });
}

void Rest::Run(Request request, const Route& route, const Reply& reply) {
  const auto json_bytes = JsonBytesOf(request);
  if (!json_bytes) return reply(json_bytes.error());
  if (*json_bytes == size_t{0}) return RunRaw(std::move(request), route, reply);
  codec::InferRequest infer;
  infer.model = route.model;
  infer.version = route.version;
  const Status read = codec::ReadBody(request.body, *json_bytes, methods_.elements_max(), &infer);
  if (!read) return reply(read.error());
  Send(std::move(infer), std::move(request), reply);
}

void Rest::RunRaw(Request request, const Route& route, const Reply& reply) {
  const auto kept = std::make_shared<Request>(std::move(request));
  methods_.OnlyInput({route.model, route.version}, Deadline(),
                     [api = shared_from_this(), kept, route, reply](Result<codec::InputHead> head) {
                       reply.Guard([&] {
                         if (!head) return reply(head.error());
                         codec::InferRequest infer;
                         infer.model = route.model;
                         infer.version = route.version;
                         infer.binary_data_output = true;  // As in Triton.
                         head->model = infer.model;
                         codec::ElementBudget budget(api->methods_.elements_max());
                         auto values = codec::FromRawBody(*head, kept->body, &budget);
                         if (!values) return reply(values.error());
                         infer.inputs[head->name] = std::move(*values);
                         api->Send(std::move(infer), std::move(*kept), reply);
                       });
                     });
}

void Rest::Send(codec::InferRequest infer, Request request, const Reply& reply) const {
  request.body = {};
  CallInfo info{.headers = std::move(request.headers),
                .deadline = Deadline(),
                .protocol = routing::Protocol::kOipRest,
                .cancelled = request.gone,
                .trace = reply.trace()};
  methods_.Infer(std::move(infer), std::move(info),
                 [reply](Result<Answered> answer) { reply.Guard([&] { reply(ToInferred(std::move(answer))); }); });
}

}  // namespace longshore::frontend::oip
