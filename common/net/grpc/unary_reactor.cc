#include "common/net/grpc/unary_reactor.h"

namespace longshore::rpc {

void UnaryReactor::Finish(const ::grpc::Status& status, size_t bytes) {
  written_.Begin(context_->c_call(), bytes);
  ServerUnaryReactor::Finish(status);
}

::grpc::ServerUnaryReactor* FinishCall(::grpc::CallbackServerContext* context, AnswerDeadlines& deadlines,
                                       const ::grpc::Status& status, size_t bytes) {
  auto* reactor = new UnaryReactor(context, deadlines);
  reactor->Finish(status, bytes);
  return reactor;
}

}  // namespace longshore::rpc
