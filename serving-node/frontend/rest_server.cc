#include "serving-node/frontend/rest_server.h"

#include <array>
#include <atomic>
#include <new>
#include <utility>

#include "common/net/http/retry.h"
#include "common/net/http/server.h"
#include "serving-node/frontend/headers.h"
#include "serving-node/frontend/inference_call.h"
#include "serving-node/frontend/json/example.h"
#include "serving-node/frontend/json/numbers.h"
#include "serving-node/frontend/json/request.h"
#include "serving-node/frontend/json/response.h"
#include "serving-node/frontend/queries.h"
#include "serving-node/frontend/rest_route.h"

namespace longshore::frontend {
namespace {

using http::Request;
using http::Responder;
using http::Response;
using tensorflow::serving::ModelSpec;

int HttpStatus(Code code) {
  static constexpr std::array kStatuses = {200, 499, 500, 400, 504, 404, 409, 403, 429,
                                           400, 409, 400, 501, 500, 503, 500, 401};
  return kStatuses[static_cast<size_t>(code)];
}

Response ErrorResponse(const Error& error, bool may_retry) {
  Response response{.status = HttpStatus(error.code), .body = json::ErrorToJson(error.message)};
  if (may_retry) response.headers.emplace_back("Retry-After", http::RetryAfterSeconds());
  if (error.code == Code::kUnauthenticated) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

Response ErrorResponse(const Error& error) { return ErrorResponse(error, MayRetry(error)); }

Response JsonResponse(Result<std::string> body) {
  if (!body) return ErrorResponse(body.error());
  return {.body = std::move(*body)};
}

// The body of an answer, and the model spec with the version that answered.
struct Inferred {
  std::string body;
  ModelSpec spec;
};

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

// Answers a request to a model, and counts it. The request keeps its in-flight slot until the answer is written or the
// connection is closed.
class Reply {
 public:
  Reply(Responder respond, MeteredRequest metered, InFlight::Slot slot)
      : state_(std::make_shared<State>(std::move(respond), std::move(metered), std::move(slot))) {}

  void operator()(Result<Inferred> inferred) const {
    if (state_->answered.exchange(true)) return;
    if (inferred && state_->slot) {
      if (const Status held = state_->slot->HoldAnswer(inferred->body.size()); !held) {
        inferred = tl::make_unexpected(held.error());
      }
    }
    if (!inferred) return Fail(inferred.error(), ErrorResponse(inferred.error()));
    state_->metered.End(Code::kOk, inferred->spec);
    Response response{.body = std::move(inferred->body)};
    const ModelSpec& spec = inferred->spec;
    if (spec.has_version()) response.headers.emplace_back(kVersionHeader, std::to_string(spec.version().value()));
    Respond(std::move(response));
  }
  void operator()(const Error& error) const { (*this)(tl::make_unexpected(error)); }

  void RefuseWithRetry(const Error& error) const {
    if (!state_->answered.exchange(true)) Fail(error, ErrorResponse(error, true));
  }
  void SetExamples(int64_t examples) const { state_->metered.SetExamples(examples); }

  // Runs a part of the request's work. If memory does not suffice, answers the request with an error, because the work
  // may run on a thread of the engine, which does not catch exceptions.
  template <typename Work>
  void Guard(Work work) const {
    try {
      work();
    } catch (const std::bad_alloc&) {
      (*this)(Error{Code::kResourceExhausted, "memory does not suffice for this request"});
    }
  }

 private:
  struct State {
    State(Responder responder, MeteredRequest request, InFlight::Slot in_flight)
        : respond(std::move(responder)), metered(std::move(request)), slot(std::move(in_flight)) {}
    Responder respond;
    MeteredRequest metered;
    InFlight::Slot slot;
    std::atomic<bool> answered = false;  // The work may have answered before it threw an exception.
  };

  void Fail(const Error& error, Response response) const {
    state_->metered.End(error.code, {});
    Respond(std::move(response));
  }
  void Respond(Response response) const {
    response.until_written = std::move(state_->slot);
    state_->respond(std::move(response));
  }

  const std::shared_ptr<State> state_;
};

// Whether pages of other origins may read the answers, and whether requests need a token.
enum class Cors { kNone, kOpen, kWithToken };

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
    const Status admitted = options_.gate->Admit(head.Header("authorization"));
    if (admitted) return std::nullopt;
    Response response = ErrorResponse(admitted.error());
    Complete("", cors(), &response);
    return response;
  }

  void Handle(Request request, Responder plain_respond) {
    const Responder respond = Completing(std::move(plain_respond));
    if (request.method == "GET" && !options_.metrics_path.empty() && request.target == options_.metrics_path) {
      return respond({.content_type = "text/plain; version=0.0.4", .body = metrics_()});
    }
    if (!IsApi(request.target))
      return respond({.status = 404, .content_type = "text/html", .body = "<h1>Not Found</h1>\n"});
    if (request.method == "OPTIONS") return respond(Preflight(request));
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
  // Adds to an answer the node's name, and the CORS headers if the option `cors` is set.
  static void Complete(const std::string& node, Cors cors, Response* response) {
    if (!node.empty()) response->headers.emplace_back(kNodeHeader, node);
    if (cors == Cors::kNone) return;
    response->headers.emplace_back("Access-Control-Allow-Origin", "*");
    response->headers.emplace_back("Access-Control-Allow-Methods", "POST, GET");
    const bool with_token = cors == Cors::kWithToken;
    response->headers.emplace_back("Access-Control-Allow-Headers",
                                   with_token ? "Content-Type, Authorization" : "Content-Type");
  }

  Cors cors() const {
    if (!options_.cors) return Cors::kNone;
    return options_.gate ? Cors::kWithToken : Cors::kOpen;
  }

  Responder Completing(Responder respond) const {
    return [respond = std::move(respond), node = options_.node, cors = cors()](Response response) {
      Complete(node, cors, &response);
      respond(std::move(response));
    };
  }

  // Takes an in-flight slot before it parses the body.
  void Run(routing::Api api, Request request, const ModelSpec& spec, const Responder& respond) {
    Result<InFlight::Slot> slot;
    if (options_.in_flight != nullptr) slot = options_.in_flight->Enter();
    const Reply reply(respond, Metered(api, spec), slot.value_or(nullptr));
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

  CallInfo InfoOf(Request* request) const {
    return {.headers = std::move(request->headers),
            .deadline = std::chrono::steady_clock::now() + options_.timeout,
            .protocol = routing::Protocol::kRest,
            .cancelled = request->gone};
  }

  MeteredRequest Metered(routing::Api api, const ModelSpec& spec) const {
    return options_.meter == nullptr ? MeteredRequest()
                                     : options_.meter->Begin(api, routing::Protocol::kRest, spec.name());
  }

  template <typename Message, typename Answer, typename Write>
  void Infer(Request request, const ModelSpec& spec, const Reply& reply, Write write,
             void (InferenceCalls::*method)(CallInfo, Message, std::function<void(Result<Answer>)>) const) const {
    Message message;
    *message.mutable_model_spec() = spec;
    const auto read = json::ExamplesFromJson(request.body, message.mutable_model_spec(), message.mutable_input());
    reply.SetExamples(inference::ExampleCount(message.input()));
    if (!read) return reply(read.error());
    (calls_.*method)(InfoOf(&request), std::move(message), [reply, write](const Result<Answer>& answer) {
      reply.Guard([&] { reply(ResultText(answer, write)); });
    });
  }

  void Predict(Request request, ModelSpec spec, const Reply& reply) {
    const auto call = std::make_shared<routing::PredictCall>(ToCall(InfoOf(&request), {}));
    *call->request.mutable_model_spec() = spec;
    Result<Described> described;
    bool asked = false;
    const auto form = ReadBody(request.body, &call->request, [&]() -> const Result<Described>& {
      asked = true;
      // The node that runs the request checks the inputs again.
      return described = catalog_.DescribeSimilar(spec);
    });
    if (!asked || described) return Run(call, form, reply);
    const auto body = std::make_shared<std::string>(std::move(request.body));
    const auto answer = [api = shared_from_this(), call, reply, body](const Result<Described>& elsewhere) {
      reply.Guard([&] {
        const auto describe = [&]() -> const Result<Described>& { return elsewhere; };
        api->Run(call, api->ReadBody(*body, &call->request, describe), reply);
      });
    };
    catalog_.DescribeElsewhere(spec, call->deadline, answer);
  }

  void Run(const std::shared_ptr<routing::PredictCall>& call, const Result<json::JsonForm>& form,
           const Reply& reply) const {
    if (!form) return reply(form.error());
    predictor_.Predict(std::move(*call), [reply, form = *form](Result<routing::PredictAnswer> answer) {
      reply.Guard([&] { reply(PredictionText(std::move(answer), form)); });
    });
  }

  // The result of `describe` must stay alive until the body is parsed.
  Result<json::JsonForm> ReadBody(const std::string& body, tensorflow::serving::PredictRequest* request,
                                  const std::function<const Result<Described>&()>& describe) const {
    const auto find = [&](const std::string& name) -> Result<const tensorflow::SignatureDef*> {
      const Result<Described>& described = describe();
      if (!described) return tl::make_unexpected(described.error());
      const auto found = (*described).signatures->find(name);
      if (found != (*described).signatures->end()) return &found->second;
      return InvalidArgument("Serving signature name: \"{}\" not found in signature def", name);
    };
    const auto elements_max = static_cast<size_t>(options_.budget.elements_max);
    if (const auto form = json::NumbersFromJson(body, find, request, elements_max)) return *form;
    return json::PredictRequestFromJson(body, find, request, elements_max);
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
