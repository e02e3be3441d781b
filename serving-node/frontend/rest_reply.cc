#include "serving-node/frontend/rest_reply.h"

#include "common/base/text.h"
#include "common/net/http/retry.h"
#include "serving-node/frontend/headers.h"
#include "serving-node/frontend/http_status.h"
#include "serving-node/frontend/json/response.h"

namespace longshore::frontend {

using http::Responder;
using http::Response;
using tensorflow::serving::ModelSpec;

Response ErrorResponse(const Error& error, bool may_retry) {
  Response response{.status = HttpStatus(error.code),
                    .body = json::ErrorToJson(CutText(error.message, kErrorBytesMax))};
  if (may_retry) response.headers.emplace_back("Retry-After", http::RetryAfterSeconds());
  if (error.code == Code::kUnauthenticated) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

Response ErrorResponse(const Error& error) { return ErrorResponse(error, MayRetry(error)); }

Response JsonResponse(Result<std::string> body) {
  if (!body) return ErrorResponse(body.error());
  return {.body = std::move(*body)};
}

struct Reply::State {
  State(Responder responder, MeteredRequest request, InFlight::Slot in_flight)
      : respond(std::move(responder)), metered(std::move(request)), slot(std::move(in_flight)) {}
  Responder respond;
  MeteredRequest metered;
  InFlight::Slot slot;
  std::atomic<bool> answered = false;  // The work may have answered before it threw an exception.
};

Reply::Reply(Responder respond, MeteredRequest metered, InFlight::Slot slot)
    : state_(std::make_shared<State>(std::move(respond), std::move(metered), std::move(slot))) {}

void Reply::operator()(Result<Inferred> inferred) const {
  if (state_->answered.exchange(true)) return;
  if (inferred && state_->slot) {
    if (const Status held = state_->slot->HoldAnswer(inferred->body.size()); !held) {
      inferred = tl::make_unexpected(held.error());
    }
  }
  if (!inferred) return Fail(inferred.error(), ErrorResponse(inferred.error()));
  state_->metered.End(Code::kOk, inferred->spec);
  Response response{.content_type = std::move(inferred->content_type),
                    .body = std::move(inferred->body),
                    .headers = std::move(inferred->headers)};
  const ModelSpec& spec = inferred->spec;
  if (spec.has_version()) response.headers.emplace_back(kVersionHeader, std::to_string(spec.version().value()));
  Respond(std::move(response));
}

void Reply::RefuseWithRetry(const Error& error) const {
  if (!state_->answered.exchange(true)) Fail(error, ErrorResponse(error, true));
}

const tracing::TracePtr& Reply::trace() const { return state_->metered.trace(); }

void Reply::SetExamples(int64_t examples) const { state_->metered.SetExamples(examples); }

void Reply::Fail(const Error& error, Response response) const {
  state_->metered.End(error.code, {});
  Respond(std::move(response));
}

void Reply::Respond(Response response) const {
  response.until_written = std::move(state_->slot);
  state_->respond(std::move(response));
}

std::optional<tracing::Context> ParentOf(const http::Headers& headers) {
  std::vector<std::string_view> parents, states;
  for (const auto& [name, value] : headers) {
    if (name == tracing::kTraceparent) parents.emplace_back(value);
    if (name == tracing::kTracestate) states.emplace_back(value);
  }
  return tracing::ParseContext({.traceparents = parents, .tracestates = states});
}

}  // namespace longshore::frontend
