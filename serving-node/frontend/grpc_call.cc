#include "serving-node/frontend/grpc_call.h"

#include "common/net/http/retry.h"

namespace longshore::frontend {

using ::grpc::ByteBuffer;
using ::grpc::CallbackServerContext;
using ::grpc::ServerUnaryReactor;
using std::chrono::system_clock;

ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& message) {
  const ::grpc::Slice slice(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
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

std::optional<tracing::Context> ParentOf(const CallbackServerContext& context) {
  const auto values_of = [&context](std::string_view name) {
    std::vector<std::string_view> values;
    const auto [begin, end] = context.client_metadata().equal_range({name.data(), name.size()});
    for (auto at = begin; at != end; ++at) values.emplace_back(at->second.data(), at->second.size());
    return values;
  };
  const auto parents = values_of(tracing::kTraceparent);
  const auto states = values_of(tracing::kTracestate);
  return tracing::ParseContext({.traceparents = parents, .tracestates = states});
}

std::string ConnectionOf(const CallbackServerContext& context, routing::Protocol protocol) {
  if (protocol == routing::Protocol::kPeer) return {};
  std::string peer = context.peer();
  return peer.starts_with("unix:") ? std::string() : peer;
}

// A client ends a call at its own deadline, which is a little earlier than the one that this node computes: gRPC rounds
// the time left up by at most a hundredth when it sends it, and the request may have been delayed on its way.
Error WhyEnded(system_clock::time_point began, system_clock::time_point deadline, system_clock::time_point now) {
  constexpr int kRounding = 64;
  constexpr auto kDelay = std::chrono::milliseconds(10);
  const bool late = now >= deadline || deadline - now <= (deadline - began) / kRounding + kDelay;
  if (late) return {Code::kDeadlineExceeded, "the deadline of the request passed"};
  return {Code::kCancelled, "the client cancelled the request"};
}

void AddRetryHint(CallbackServerContext* context) {
  context->AddTrailingMetadata(kRetryHeader, std::to_string(http::RetryAfterMs()));
}

ServerUnaryReactor* Refuse(CallbackServerContext* context, rpc::AnswerDeadlines& deadlines,
                           const tl::unexpected<Error>& error) {
  return rpc::FinishCall(context, deadlines, rpc::ToGrpc(error.value()));
}

ServerUnaryReactor* Refuse(CallbackServerContext* context, rpc::AnswerDeadlines& deadlines,
                           const MeteredRequest& metered, const Error& error) {
  metered.End(error.code, {});
  if (error.code != Code::kInvalidArgument) AddRetryHint(context);
  return Refuse(context, deadlines, tl::make_unexpected(error));
}

}  // namespace longshore::frontend
