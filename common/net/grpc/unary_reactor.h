// Ends the unary calls of a gRPC server. Every unary method of a service uses it, so that the call of a client that
// does not read its answer ends in time, and does not delay the end of the server.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>

#include "common/net/grpc/answer_deadlines.h"

namespace longshore::rpc {

// One call. Deletes itself at the end of the call: when the answer is written or the connection is closed.
class UnaryReactor : public ::grpc::ServerUnaryReactor {
 public:
  // `deadlines` must outlive the call.
  UnaryReactor(::grpc::CallbackServerContext* context, AnswerDeadlines& deadlines)
      : context_(context), written_(deadlines) {}

  // Ends the call. `bytes` is the size of the response; 0 with an error. If the client does not read the answer in
  // time, the call is cancelled. Call it once; the object may be deleted before it returns.
  void Finish(const ::grpc::Status& status, size_t bytes = 0);

  void OnDone() override { delete this; }

 protected:
  ::grpc::CallbackServerContext* context() const { return context_; }

 private:
  ::grpc::CallbackServerContext* const context_;
  AnswerDeadlines::Answer written_;
};

// Ends a call whose answer is known: with the response of this size, which is complete, or with an error. A method
// returns the result to gRPC.
::grpc::ServerUnaryReactor* FinishCall(::grpc::CallbackServerContext* context, AnswerDeadlines& deadlines,
                                       const ::grpc::Status& status, size_t bytes = 0);

}  // namespace longshore::rpc
