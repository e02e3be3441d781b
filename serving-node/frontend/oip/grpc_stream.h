// The stream of ModelStreamInfer: each request is answered before the next one is read, so answers have the order of
// their requests, and a client cannot queue requests in this node.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>

#include "common/base/error.h"
#include "common/net/grpc/answer_deadlines.h"
#include "serving-node/frontend/in_flight.h"
#include "serving-node/frontend/inference_call.h"
#include "serving-node/frontend/metered.h"
#include "serving-node/frontend/oip/methods.h"

namespace longshore::frontend::oip {

// What the answer to a request of a stream repeats of it.
struct Asked {
  std::string id;
  bool marks_final = false;
};

// Reads a ModelInferRequest, and tells the meter its model. Sets `asked` also if the request is not valid, as far as
// its bytes can be read. InvalidArgument or ResourceExhausted as in codec::Open and codec::FromProto;
// ResourceExhausted if memory does not suffice.
Result<codec::InferRequest> Decode(const ::grpc::ByteBuffer& bytes, int64_t elements_max, MeteredRequest* metered,
                                   Asked* asked);

// What the node knows about a call besides its message and its cancellation.
CallInfo InfoOf(const ::grpc::CallbackServerContext& context, const MeteredRequest& metered);

struct StreamParts {
  ::grpc::CallbackServerContext* context;
  const Methods& methods;
  rpc::AnswerDeadlines& deadlines;
  std::function<MeteredRequest()> meter;          // Called for each request.
  std::function<Result<InFlight::Slot>()> enter;  // Called for each request.
};

// The open streams of a server. Thread-safe. Must outlive its streams.
class Streams {
 public:
  using Reactor = ::grpc::ServerBidiReactor<::grpc::ByteBuffer, ::grpc::ByteBuffer>;

  // Returns a reactor that deletes itself at the end of the stream. The references in `parts` must outlive it. The
  // error of a request is the error_message of its answer, and does not end the stream, unless the metadata of the call
  // have `triton_grpc_error: true`.
  Reactor* Open(StreamParts parts);

  // Ends each stream with UNAVAILABLE after its current answer, or at once if it has none. Streams that are opened
  // later end at once.
  void End();

 private:
  class Stream;

  std::mutex mutex_;  // Guards the members below, and which streams are reading.
  bool ended_ = false;
  std::set<Stream*> open_;
};

}  // namespace longshore::frontend::oip
