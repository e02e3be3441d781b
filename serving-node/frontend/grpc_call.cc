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

Result<InFlight::Slot> Enter(const CallOptions& options) {
  if (options.in_flight == nullptr) return InFlight::Slot();
  return options.in_flight->Enter();
}

void AddNode(Call& call, const CallOptions& options) {
  if (!options.node.empty()) call.AddInitialMetadata(kNodeHeader, options.node);
}

// A client ends a call at its own deadline, which is a little earlier than the one that this node computes: gRPC rounds
// the time left up by at most a hundredth when it sends it, and the request may have been delayed on its way.
Code CodeOfEnd(const Call& call, steady_clock::time_point now) {
  constexpr int kRounding = 64;
  constexpr auto kDelay = milliseconds(10);
  const auto deadline = call.deadline();
  const bool has_deadline = deadline != steady_clock::time_point::max();
  const bool is_late =
      has_deadline && (now >= deadline || deadline - now <= (deadline - call.began_at()) / kRounding + kDelay);
  return is_late ? Code::kDeadlineExceeded : Code::kCancelled;
}

void RefuseForNow(Call& call, const Error& error) {
  call.AddTrailingMetadata(kRetryHeader, std::to_string(http::RetryAfterMs()));
  call.Finish(tl::make_unexpected(error));
}

void Refuse(Call& call, const Error& error) {
  MayRetry(error) ? RefuseForNow(call, error) : call.Finish(tl::make_unexpected(error));
}

grpc_server::Method Predicting(const CallOptions& options, routing::Api api, PredictHandler predict) {
  const auto refuse = [](const CallPtr& call, const MeteredRequest& metered, const Error& error) {
    metered.End(error.code, {});
    RefuseForNow(*call, error);
  };
  const auto on_head = [&options, api, refuse](const CallPtr& call) {
    const Status free = options.in_flight->Check();
    if (free) return;
    AddNode(*call, options);
    refuse(call, Meter(*call, options, api), free.error());
  };
  const auto handler = [&options, api, refuse, predict = std::move(predict)](const CallPtr& call) {
    AddNode(*call, options);
    MeteredRequest metered = Meter(*call, options, api);
    auto slot = Enter(options);
    if (!slot) return refuse(call, metered, slot.error());
    const auto prediction = std::make_shared<Prediction>(call, options, std::move(metered), std::move(*slot));
    try {
      predict(prediction);
    } catch (const std::bad_alloc&) {
      prediction->Fail(OutOfMemory().value());
    }
  };
  return {.handler = handler, .on_head = options.in_flight == nullptr ? grpc_server::Handler() : on_head};
}

Prediction::Prediction(CallPtr call, const CallOptions& options, MeteredRequest metered, InFlight::Slot slot)
    : call_(std::move(call)),
      options_(options),
      metered_(std::move(metered)),
      slot_(std::move(slot)),
      cancelled_(call_->cancelled()),
      on_cancel_(cancelled_, OnCancel{this}) {}

CallInfo Prediction::Info() const {
  CallInfo info = InfoOf(*call_, metered_, options_.protocol);
  info.cancelled = cancelled_;
  return info;
}

void Prediction::Cancel() {
  if (!finished_.exchange(true)) metered_.End(CodeOfEnd(*call_, steady_clock::now()), {});
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
  // The queue may notice first that nobody waits for the answer, and then answers for this reason.
  if (cancelled_.stop_requested()) return metered_.End(CodeOfEnd(*call_, steady_clock::now()), {});
  if (answer) {
    if (const Status held = Check(*answer, slot); !held) answer = tl::make_unexpected(held.error());
  }
  metered_.End(answer ? Code::kOk : answer.error().code,
               answer ? answer->model_spec : tensorflow::serving::ModelSpec::default_instance());
  if (!answer) return Refuse(*call_, answer.error());
  if (!options_.node.empty() && answer->model_spec.has_version()) {
    call_->AddInitialMetadata(kVersionHeader, std::to_string(answer->model_spec.version().value()));
  }
  call_->Finish({}, std::move(answer->bytes), std::move(slot));
}

}  // namespace longshore::frontend
