// The parts of a gRPC call that all services of clients have in common: its metadata, its answer, its cancellation.
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "common/base/error.h"
#include "common/net/grpc/answer_deadlines.h"
#include "common/net/grpc/status.h"
#include "common/net/grpc/unary_reactor.h"
#include "serving-node/frontend/headers.h"
#include "serving-node/frontend/in_flight.h"
#include "serving-node/frontend/metered.h"
#include "serving-node/frontend/refusals.h"
#include "serving-node/routing/predict.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::frontend {

::grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& message);

std::chrono::steady_clock::time_point SteadyDeadline(const ::grpc::CallbackServerContext& context);

routing::Headers HeadersOf(const ::grpc::CallbackServerContext& context);

// Returns the span of the caller, from the metadata traceparent; nullopt if it is absent or not valid.
std::optional<tracing::Context> ParentOf(const ::grpc::CallbackServerContext& context);

// Returns the name of the connection for InFlight. It is "" if many clients share the name (a unix socket) or the
// connection (a peer).
std::string ConnectionOf(const ::grpc::CallbackServerContext& context, routing::Protocol protocol);

// Returns why a call ended before its answer: gRPC does not say whether the client cancelled it or its deadline passed.
Error WhyEnded(std::chrono::system_clock::time_point began, std::chrono::system_clock::time_point deadline,
               std::chrono::system_clock::time_point now);

// Tells the client after which time it may try again.
void AddRetryHint(::grpc::CallbackServerContext* context);

// Ends a call with an error.
::grpc::ServerUnaryReactor* Refuse(::grpc::CallbackServerContext* context, rpc::AnswerDeadlines& deadlines,
                                   const tl::unexpected<Error>& error);
// Ends a call that was not parsed: it got no in-flight slot, or it is malformed.
::grpc::ServerUnaryReactor* Refuse(::grpc::CallbackServerContext* context, rpc::AnswerDeadlines& deadlines,
                                   const MeteredRequest& metered, const Error& error);

// An answer as bytes, and the model spec with the version that answered.
struct Encoded {
  tensorflow::serving::ModelSpec model_spec;
  ::grpc::ByteBuffer bytes;
};

inline size_t BytesOf(const Encoded& answer) { return answer.bytes.Length(); }
inline size_t BytesOf(const google::protobuf::MessageLite& answer) { return answer.ByteSizeLong(); }

// Returns the model spec of an answer; an empty one if the answer has none.
inline const tensorflow::serving::ModelSpec& SpecOf(const tensorflow::serving::MultiInferenceResponse& answer) {
  return answer.results(0).model_spec();
}
template <typename Answer>
const tensorflow::serving::ModelSpec& SpecOf(const Answer& answer) {
  if constexpr (requires { answer.model_spec; }) {
    return answer.model_spec;
  } else if constexpr (requires { answer.model_spec(); }) {
    return answer.model_spec();
  } else {
    return tensorflow::serving::ModelSpec::default_instance();
  }
}

inline void Write(Encoded answer, ::grpc::ByteBuffer* response) { *response = std::move(answer.bytes); }
template <typename Message>
void Write(Message answer, Message* response) {
  *response = std::move(answer);
}

// Handles one call. Either the client's cancellation or the answer finishes the call, whichever comes first. An answer
// after a cancellation must read nothing but `finished`, because the context may be destroyed.
template <typename Response>
class Reactor final : public rpc::UnaryReactor {
 public:
  // If `sends_version`, the number of the version that answered is sent as x-longshore-version.
  Reactor(::grpc::CallbackServerContext* context, Response* response, rpc::AnswerDeadlines& deadlines,
          bool sends_version, MeteredRequest metered = {}, InFlight::Slot slot = {})
      : UnaryReactor(context, deadlines),
        response_(response),
        sends_version_(sends_version),
        metered_(std::move(metered)),
        slot_(std::move(slot)) {}

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
      const Error error = WhyEnded(began_, context()->deadline(), std::chrono::system_clock::now());
      metered_.End(error.code, {});
      Finish(rpc::ToGrpc(error));
    }
    cancelled.request_stop();
  }

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
      if (MayRetry(answer.error())) AddRetryHint(context());
      return Finish(rpc::ToGrpc(answer.error()));
    }
    if (sends_version_ && SpecOf(*answer).has_version()) {
      context()->AddInitialMetadata(kVersionHeader, std::to_string(SpecOf(*answer).version().value()));
    }
    Write(std::move(*answer), response_);
    Finish(::grpc::Status::OK, bytes);
  }

  Response* const response_;
  const bool sends_version_;
  const std::chrono::system_clock::time_point began_ = std::chrono::system_clock::now();
  const MeteredRequest metered_;
  const InFlight::Slot slot_;
  const std::shared_ptr<std::atomic<bool>> finished_ = std::make_shared<std::atomic<bool>>(false);
  std::stop_source cancelled_;
};

// The largest message that Protocol Buffers can read.
inline constexpr size_t kAnswerBytesMax = std::numeric_limits<int32_t>::max();

// Calls `done` with the encoded answer or with its error: ResourceExhausted above kAnswerBytesMax. May run on a thread
// of the engine, which catches no exceptions.
template <typename Answer, typename ToEncoded>
void FinishEncoded(Result<Answer> answer, const std::function<void(Result<Encoded>)>& done, const ToEncoded& encode) {
  if (!answer) return done(tl::make_unexpected(answer.error()));
  try {
    Encoded encoded = encode(std::move(*answer));
    if (encoded.bytes.Length() > kAnswerBytesMax)
      return done(ResourceExhausted("the answer has more than {} bytes", kAnswerBytesMax));
    done(std::move(encoded));
  } catch (const std::bad_alloc&) {
    done(OutOfMemory());
  }
}

}  // namespace longshore::frontend
