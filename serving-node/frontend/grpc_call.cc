#include "serving-node/frontend/grpc_call.h"

#include "common/net/http/retry.h"

namespace longshore::frontend {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Returns the span of the caller, from the metadata traceparent; nullopt if it is absent or not valid.
std::optional<tracing::Context> ParentOf(const Call& call) {
  std::vector<std::string_view> parents;
  std::vector<std::string_view> states;
  call.ForEachMetadata([&](std::string_view name, std::string_view value) {
    if (name == tracing::kTraceparent) parents.push_back(value);
    if (name == tracing::kTracestate) states.push_back(value);
  });
  return tracing::ParseContext({.traceparents = parents, .tracestates = states});
}

// Returns the name of the connection for InFlight. It is "" if many clients share the name (a unix socket) or the
// connection (a peer).
const std::string& ConnectionOf(const Call& call, routing::Protocol protocol) {
  static const std::string none;
  const std::string& address = call.peer().address;
  return protocol == routing::Protocol::kPeer || address.starts_with("unix:") ? none : address;
}

}  // namespace

routing::Headers HeadersOf(const Call& call) {
  routing::Headers headers;
  headers.reserve(8);
  call.ForEachMetadata(
      [&headers](std::string_view name, std::string_view value) { headers.emplace_back(name, value); });
  return headers;
}

CallInfo InfoOf(const Call& call, const MeteredRequest& metered, routing::Protocol protocol) {
  return {.headers = HeadersOf(call), .deadline = call.deadline(), .protocol = protocol, .trace = metered.trace()};
}

MeteredRequest Meter(const Call& call, const CallOptions& options, routing::Api api) {
  if (options.meter == nullptr) return {};
  const std::string_view path = call.path().substr(1);
  const size_t slash = path.rfind('/');
  return options.meter->Begin(api, options.protocol, "",
                              {.service = path.substr(0, slash), .method = path.substr(slash + 1)},
                              [&call] { return ParentOf(call); });
}

Result<InFlight::Slot> Enter(const Call& call, const CallOptions& options) {
  if (options.in_flight == nullptr) return InFlight::Slot();
  return options.in_flight->Enter(ConnectionOf(call, options.protocol));
}

void AddNode(Call& call, const CallOptions& options) {
  if (!options.node.empty()) call.AddInitialMetadata(kNodeHeader, options.node);
}

// A client ends a call at its own deadline, which is a little earlier than the one that this node computes: gRPC rounds
// the time left up by at most a hundredth when it sends it, and the request may have been delayed on its way.
Error WhyEnded(const Call& call, steady_clock::time_point now) {
  constexpr int kRounding = 64;
  constexpr auto kDelay = milliseconds(10);
  const auto deadline = call.deadline();
  const bool has_deadline = deadline != steady_clock::time_point::max();
  if (has_deadline && (now >= deadline || deadline - now <= (deadline - call.began_at()) / kRounding + kDelay)) {
    return {Code::kDeadlineExceeded, "the deadline of the request passed"};
  }
  return {Code::kCancelled, "the client cancelled the request"};
}

void RefuseForNow(Call& call, const Error& error) {
  call.AddTrailingMetadata(kRetryHeader, std::to_string(http::RetryAfterMs()));
  call.Finish(tl::make_unexpected(error));
}

void Refuse(Call& call, const Error& error) {
  MayRetry(error) ? RefuseForNow(call, error) : call.Finish(tl::make_unexpected(error));
}

void Refuse(Call& call, const MeteredRequest& metered, const Error& error) {
  metered.End(error.code, {});
  error.code == Code::kInvalidArgument ? call.Finish(tl::make_unexpected(error)) : RefuseForNow(call, error);
}

grpc_server::Method Predicting(const CallOptions& options, routing::Api api, PredictHandler predict) {
  const auto refuse = [&options, api](const CallPtr& call, const Error& error) {
    AddNode(*call, options);
    Refuse(*call, Meter(*call, options, api), error);
  };
  const auto on_head = [&options, refuse](const CallPtr& call) {
    const Status free = options.in_flight->Check(ConnectionOf(*call, options.protocol));
    if (!free) refuse(call, free.error());
  };
  const auto handler = [&options, api, predict = std::move(predict)](const CallPtr& call) {
    AddNode(*call, options);
    MeteredRequest metered = Meter(*call, options, api);
    auto slot = Enter(*call, options);
    if (!slot) return Refuse(*call, metered, slot.error());
    predict(call, std::move(metered), std::move(*slot));
  };
  return {.handler = handler, .on_head = options.in_flight == nullptr ? grpc_server::Handler() : on_head};
}

Prediction::Prediction(CallPtr call, MeteredRequest metered, InFlight::Slot slot, bool sends_version)
    : call_(std::move(call)),
      metered_(std::move(metered)),
      sends_version_(sends_version),
      slot_(std::move(slot)),
      cancelled_(call_->cancelled()),
      on_cancel_(cancelled_, OnCancel{this}) {}

void Prediction::Cancel() {
  if (!finished_.exchange(true)) metered_.End(WhyEnded(*call_, steady_clock::now()).code, {});
}

Status Prediction::Check(const Encoded& answer, const InFlight::Slot& slot) const {
  if (answer.bytes.size() > grpc_server::kAnswerBytesMax) {
    return ResourceExhausted("the answer has more than {} bytes", grpc_server::kAnswerBytesMax);
  }
  return slot ? slot->HoldAnswer(answer.bytes.size()) : Status();
}

void Prediction::Finish(Result<Encoded> answer) {
  InFlight::Slot slot = std::exchange(slot_, nullptr);
  if (finished_.exchange(true)) return;
  if (answer) {
    if (const Status held = Check(*answer, slot); !held) answer = tl::make_unexpected(held.error());
  }
  metered_.End(answer ? Code::kOk : answer.error().code,
               answer ? answer->model_spec : tensorflow::serving::ModelSpec::default_instance());
  if (!answer) return Refuse(*call_, answer.error());
  if (sends_version_ && answer->model_spec.has_version()) {
    call_->AddInitialMetadata(kVersionHeader, std::to_string(answer->model_spec.version().value()));
  }
  call_->Finish({}, std::move(answer->bytes), std::move(slot));
}

}  // namespace longshore::frontend
