#include "serving-node/frontend/rest_server.h"

#include <utility>

#include "common/net/http/server.h"
#include "serving-node/frontend/headers.h"
#include "serving-node/frontend/inference_call.h"
#include "serving-node/frontend/json/example.h"
#include "serving-node/frontend/json/numbers.h"
#include "serving-node/frontend/json/request.h"
#include "serving-node/frontend/json/response.h"
#include "serving-node/frontend/queries.h"
#include "serving-node/frontend/rest_reply.h"
#include "serving-node/frontend/rest_route.h"

namespace longshore::frontend {
namespace {

using http::Request;
using http::Responder;
using http::Response;
using tensorflow::serving::ModelSpec;

// Converts the answer of a classification or a regression.
template <typename Answer, typename Write>
Result<Inferred> ResultText(const Result<Answer>& answer, Write write) {
  if (!answer) return tl::make_unexpected(answer.error());
  return Inferred{write(answer->result()), answer->model_spec()};
}

Result<Inferred> PredictionText(Result<routing::PredictAnswer> answer, json::JsonForm form) {
  if (!answer) return tl::make_unexpected(answer.error());
  ModelSpec spec = std::move(answer->model_spec);
  ASSIGN_OR_RETURN(const engine::TensorMap outputs, OutputsOf(std::move(*answer)));
  ASSIGN_OR_RETURN(std::string body, json::PredictionsToJson(outputs, form));
  return Inferred{std::move(body), std::move(spec)};
}

// The name of the route in traces. It is the same for all versions and labels.
std::string_view RouteOf(routing::Api api) {
  switch (api) {
    case routing::Api::kClassify: return "/v1/models/{model}:classify";
    case routing::Api::kRegress: return "/v1/models/{model}:regress";
    default: return "/v1/models/{model}:predict";
  }
}

// What pages of other origins may do; nothing if `allowed_headers` is empty.
struct Cors {
  std::string allowed_headers;  // Which headers their requests may have.
  std::string exposed_headers;  // Which headers of the answers they may read.
};

// Answers requests. The object is shared, because a request that waits for another node's description of a model may
// outlive the server.
class Api final : public std::enable_shared_from_this<Api> {
 public:
  Api(RestOptions options, routing::Predictor& predictor, const Catalog& catalog, std::function<std::string()> metrics)
      : options_(std::move(options)),
        predictor_(predictor),
        catalog_(catalog),
        calls_(predictor, catalog, options_.check_method_names),
        metrics_(std::move(metrics)) {}

  // Returns the answer to a request that is refused. Called before the body is read. Admits CORS preflights without a
  // token, because browsers send none with them, but only if they have no body.
  std::optional<Response> Admit(const Request& head) const {
    const auto length = head.Header("content-length");
    const bool is_bare = head.Header("transfer-encoding").empty() && (length.empty() || length == "0");
    if (options_.cors && head.method == "OPTIONS" && is_bare) return std::nullopt;
    const Status admitted = options_.gate->Admit(head.Header("authorization"), ScopeOf(head));
    if (admitted) return std::nullopt;
    Response response = ErrorResponse(admitted.error());
    Complete("", CorsOf(head), &response);
    return response;
  }

  void Handle(Request request, Responder plain_respond) {
    const Responder respond = Completing(request, std::move(plain_respond));
    if (request.method == "GET" && !options_.metrics_path.empty() && request.target == options_.metrics_path) {
      return respond({.content_type = "text/plain; version=0.0.4", .body = metrics_()});
    }
    const bool is_other = IsOther(request);
    if (!is_other && !IsApi(request.target))
      return respond({.status = 404, .content_type = "text/html", .body = "<h1>Not Found</h1>\n"});
    if (request.method == "OPTIONS") return respond(Preflight(request));
    if (is_other) return options_.other_api->Handle(std::move(request), respond);
    auto route = ParseRoute(request.method, request.target);
    if (!route) return respond(ErrorResponse(route.error()));
    switch (route->kind) {
      case RestRoute::Kind::kStatus: return ModelStatus(route->spec, respond);
      case RestRoute::Kind::kMetadata: return Metadata(route->spec, respond);
      case RestRoute::Kind::kPredict: return Run(routing::Api::kPredict, std::move(request), route->spec, respond);
      case RestRoute::Kind::kClassify: return Run(routing::Api::kClassify, std::move(request), route->spec, respond);
      case RestRoute::Kind::kRegress: return Run(routing::Api::kRegress, std::move(request), route->spec, respond);
    }
  }

 private:
  bool IsOther(const Request& request) const { return options_.other_api && options_.other_api->Owns(request.target); }

  auth::Scope ScopeOf(const Request& head) const {
    return IsOther(head) ? options_.other_api->ScopeOf(head.method, head.target) : auth::Scope::kPredict;
  }

  // Adds to an answer the node's name, and the CORS headers if the option `cors` is set.
  static void Complete(const std::string& node, const Cors& cors, Response* response) {
    if (!node.empty()) response->headers.emplace_back(kNodeHeader, node);
    if (cors.allowed_headers.empty()) return;
    response->headers.emplace_back("Access-Control-Allow-Origin", "*");
    response->headers.emplace_back("Access-Control-Allow-Methods", "POST, GET");
    response->headers.emplace_back("Access-Control-Allow-Headers", cors.allowed_headers);
    if (cors.exposed_headers.empty()) return;
    response->headers.emplace_back("Access-Control-Expose-Headers", cors.exposed_headers);
  }

  Cors CorsOf(const Request& request) const {
    Cors cors;
    if (!options_.cors) return cors;
    cors.allowed_headers = options_.gate ? "Content-Type, Authorization" : "Content-Type";
    if (!IsOther(request)) return cors;
    cors.exposed_headers = options_.other_api->BodyHeader();
    cors.allowed_headers.append(", ").append(cors.exposed_headers);
    return cors;
  }

  Responder Completing(const Request& request, Responder respond) const {
    return [respond = std::move(respond), node = options_.node, cors = CorsOf(request)](Response response) {
      Complete(node, cors, &response);
      respond(std::move(response));
    };
  }

  // Takes an in-flight slot before it parses the body.
  void Run(routing::Api api, Request request, const ModelSpec& spec, const Responder& respond) {
    Result<InFlight::Slot> slot;
    if (options_.in_flight != nullptr) slot = options_.in_flight->Enter();
    const Reply reply(respond, Metered(api, spec, request), slot.value_or(nullptr));
    if (!slot) return reply.RefuseWithRetry(slot.error());
    reply.Guard([&] {
      if (api == routing::Api::kPredict) return Predict(std::move(request), spec, reply);
      if (api == routing::Api::kClassify)
        return Infer(std::move(request), spec, reply, json::ClassificationsToJson, &InferenceCalls::Classify);
      Infer(std::move(request), spec, reply, json::RegressionsToJson, &InferenceCalls::Regress);
    });
  }

  static Response Preflight(const Request& request) {
    const auto origin = request.Header("origin");
    if (origin.find("http://") != origin.npos || origin.find("https://") != origin.npos) return {.body = ""};
    return ErrorResponse({Code::kFailedPrecondition, "Origin header is missing in CORS preflight"});
  }

  CallInfo InfoOf(Request* request, const Reply& reply) const {
    return {.headers = std::move(request->headers),
            .deadline = std::chrono::steady_clock::now() + options_.timeout,
            .protocol = routing::Protocol::kRest,
            .cancelled = request->gone,
            .trace = reply.trace()};
  }

  MeteredRequest Metered(routing::Api api, const ModelSpec& spec, const Request& request) const {
    if (options_.meter == nullptr) return {};
    return options_.meter->Begin(api, routing::Protocol::kRest, spec.name(),
                                 {.service = "", .method = "POST", .route = RouteOf(api)},
                                 [&request] { return ParentOf(request.headers); });
  }

  template <typename Message, typename Answer, typename Write>
  void Infer(Request request, const ModelSpec& spec, const Reply& reply, Write write,
             void (InferenceCalls::*method)(CallInfo, Message, std::function<void(Result<Answer>)>) const) const {
    Message message;
    *message.mutable_model_spec() = spec;
    const auto read = json::ExamplesFromJson(request.body, message.mutable_model_spec(), message.mutable_input());
    reply.SetExamples(inference::ExampleCount(message.input()));
    if (!read) return reply(read.error());
    (calls_.*method)(InfoOf(&request, reply), std::move(message), [reply, write](const Result<Answer>& answer) {
      reply.Guard([&] { reply(ResultText(answer, write)); });
    });
  }

  void Predict(Request request, ModelSpec spec, const Reply& reply) {
    const auto call = std::make_shared<routing::PredictCall>(ToCall(InfoOf(&request, reply), {}));
    Result<Described> described;
    bool asked = false;
    auto read = ReadBody(request.body, [&]() -> const Result<Described>& {
      asked = true;
      // The node that runs the request checks the inputs again.
      return described = catalog_.DescribeSimilar(spec);
    });
    if (!asked || described) return Run(call, spec, std::move(read), reply);
    const auto body = std::make_shared<std::string>(std::move(request.body));
    const auto answer = [api = shared_from_this(), call, spec, reply, body](const Result<Described>& elsewhere) {
      reply.Guard([&] {
        const auto describe = [&]() -> const Result<Described>& { return elsewhere; };
        api->Run(call, spec, api->ReadBody(*body, describe), reply);
      });
    };
    catalog_.DescribeElsewhere(spec, call->deadline, answer);
  }

  void Run(const std::shared_ptr<routing::PredictCall>& call, ModelSpec spec, Result<json::Prediction> read,
           const Reply& reply) const {
    if (!read) return reply(read.error());
    if (!read->signature_name.empty()) spec.set_signature_name(std::move(read->signature_name));
    call->request = inference::Request(std::move(spec), std::move(read->inputs));
    predictor_.Predict(std::move(*call), [reply, form = read->form](Result<routing::PredictAnswer> answer) {
      reply.Guard([&] { reply(PredictionText(std::move(answer), form)); });
    });
  }

  // The result of `describe` must stay alive until the body is parsed.
  Result<json::Prediction> ReadBody(const std::string& body,
                                    const std::function<const Result<Described>&()>& describe) const {
    const auto find = [&](const std::string& name) -> Result<const tensorflow::SignatureDef*> {
      const Result<Described>& described = describe();
      if (!described) return tl::make_unexpected(described.error());
      const auto found = (*described).signatures->find(name);
      if (found != (*described).signatures->end()) return &found->second;
      return InvalidArgument("Serving signature name: \"{}\" not found in signature def", name);
    };
    const auto elements_max = static_cast<size_t>(options_.budget.elements_max);
    if (auto read = json::NumbersFromJson(body, find, elements_max)) return std::move(*read);
    return json::PredictionFromJson(body, find, elements_max);
  }

  void ModelStatus(const ModelSpec& spec, const Responder& respond) const {
    const auto answer = [respond](const auto& status) { respond(JsonResponse(status.map(json::StatusToJson))); };
    GetStatus(catalog_, spec, std::chrono::steady_clock::now() + options_.timeout, answer);
  }

  void Metadata(const ModelSpec& spec, const Responder& respond) const {
    const auto answer = [spec, respond](const Result<Described>& found) {
      respond(JsonResponse(MetadataText(spec, found)));
    };
    DescribeAnywhere(catalog_, spec, std::chrono::steady_clock::now() + options_.timeout, answer);
  }

  static Result<std::string> MetadataText(const ModelSpec& spec, const Result<Described>& found) {
    ASSIGN_OR_RETURN(const Described described, found);
    ModelSpec resolved;
    resolved.set_name(spec.name());
    resolved.mutable_version()->set_value(described.version);
    return json::MetadataToJson(resolved, ToMap(*described.signatures));
  }

  const RestOptions options_;
  routing::Predictor& predictor_;
  const Catalog& catalog_;
  const InferenceCalls calls_;
  const std::function<std::string()> metrics_;
};

class Rest final : public RestServer {
 public:
  static Result<std::unique_ptr<RestServer>> Listen(const RestOptions& options, const std::shared_ptr<Api>& api) {
    http::Options served{
        .address = options.listen, .listen_fd = options.listen_fd, .tls = options.tls, .threads = options.threads};
    served.shares_socket = options.shares_socket;
    served.connection_age_max = std::chrono::milliseconds(options.connection_age_max_ms);
    served.connections_max = options.connections_max;
    served.body_bytes_max = options.body_bytes_max;
    served.gzip_bytes_min = options.gzip_bytes_min;
    served.bytes_per_second_min = options.bytes_per_second_min;
    if (options.gate) served.admit = [api](const Request& head) { return api->Admit(head); };
    served.bodies_bytes_max = options.bodies_bytes_max;
    served.stop_timeout = options.stop_timeout;
    served.inflated_bytes_max = options.budget.inflated_bytes_max;
    ASSIGN_OR_RETURN(auto server, http::Server::Start(std::move(served), [api](Request request, Responder respond) {
                       api->Handle(std::move(request), std::move(respond));
                     }));
    return std::make_unique<Rest>(std::move(server));
  }

  explicit Rest(std::unique_ptr<http::Server> server) : server_(std::move(server)) {}

  int port() const override { return server_->port(); }
  int listen_fd() const override { return server_->listen_fd(); }
  size_t connections() const override { return server_->connections(); }
  std::vector<http::OpenConnection> OpenConnections() const override { return server_->OpenConnections(); }
  void Drain() override { server_->Stop(); }

 private:
  const std::unique_ptr<http::Server> server_;
};

}  // namespace

Result<std::unique_ptr<RestServer>> RestServer::Start(RestOptions options, routing::Predictor& predictor,
                                                      const Catalog& catalog, std::function<std::string()> metrics) {
  const auto api = std::make_shared<Api>(options, predictor, catalog, std::move(metrics));
  return Rest::Listen(options, api);
}

}  // namespace longshore::frontend
