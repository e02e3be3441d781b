// The stream of ModelStreamInfer: each request is answered before the next one is read, so answers have the order of
// their requests, and a client cannot queue requests in this node.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <stop_token>

#include "common/base/error.h"
#include "common/net/grpc/answer_deadlines.h"
#include "serving-node/frontend/in_flight.h"
#include "serving-node/frontend/inference_call.h"
#include "serving-node/frontend/metered.h"
#include "serving-node/frontend/oip/methods.h"

namespace longshore::frontend::oip {

// Reads a ModelInferRequest, and tells the meter its model. InvalidArgument or ResourceExhausted as in
// codec::FromProto.
Result<codec::InferRequest> Decode(const ::grpc::ByteBuffer& bytes, int64_t elements_max, MeteredRequest* metered);

// What the node knows about a call besides its message.
CallInfo InfoOf(const ::grpc::CallbackServerContext& context, std::stop_token cancelled);

struct StreamParts {
  ::grpc::CallbackServerContext* context;
  const Methods& methods;
  rpc::AnswerDeadlines& deadlines;
  std::function<MeteredRequest()> meter;          // Called for each request.
  std::function<Result<InFlight::Slot>()> enter;  // Called for each request.
};

// Returns a reactor that deletes itself at the end of the stream. The references must outlive it. The error of a
// request is the error_message of its answer, and does not end the stream.
::grpc::ServerBidiReactor<::grpc::ByteBuffer, ::grpc::ByteBuffer>* NewStream(StreamParts parts);

}  // namespace longshore::frontend::oip
