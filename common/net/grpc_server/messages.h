// Methods whose messages are those of generated code.
//
//   service.Add("/test.Echo/Say", Unary<SayRequest, SayResponse>([](const SayRequest& request) -> Result<SayResponse> {
//     ...
//   }));
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "common/base/error.h"
#include "common/base/pieces.h"
#include "common/net/grpc_server/call.h"
#include "common/net/grpc_server/service.h"

namespace longshore::grpc_server {

// Reads a message. InvalidArgument if the bytes are not a message of this type: "malformed SayRequest (12 bytes)".
Status Parse(const Pieces& bytes, google::protobuf::Message* message);

// The largest message that Protocol Buffers can read.
inline constexpr size_t kAnswerBytesMax = std::numeric_limits<int32_t>::max();

Pieces ToPieces(const google::protobuf::MessageLite& message);

// Ends a call with its answer. ResourceExhausted if memory does not suffice, or above kAnswerBytesMax.
void Finish(Call& call, const google::protobuf::MessageLite& answer);

// How a handler answers: it calls this function once, on any thread.
template <typename Response>
using Done = std::function<void(Result<Response>)>;

// A method whose handler(call, request, done) answers later. Request and Response are generated messages.
template <typename Request, typename Response, typename Handler>
Method LaterUnary(Handler handler) {
  return {.handler = [handler = std::move(handler)](const std::shared_ptr<Call>& call) {
    Request request;
    if (const Status read = Parse(call->TakeRequest(), &request); !read) return call->Finish(read);
    handler(call, std::move(request), Done<Response>([call](const Result<Response>& answer) {
              answer ? Finish(*call, *answer) : call->Finish(tl::make_unexpected(answer.error()));
            }));
  }};
}

// A method whose handler(request) returns Result<Response>.
template <typename Request, typename Response, typename Handler>
Method Unary(Handler handler) {
  return LaterUnary<Request, Response>(
      [handler = std::move(handler)](const std::shared_ptr<Call>&, const Request& request, const Done<Response>& done) {
        done(handler(request));
      });
}

}  // namespace longshore::grpc_server
