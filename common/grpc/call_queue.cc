#include "common/grpc/call_queue.h"

#include "common/error.h"

namespace longshore::rpc {

CallQueue::CallQueue(::grpc::ServerBuilder& builder) : queue_(builder.AddCompletionQueue()) {}

CallQueue::~CallQueue() { CHECK(!thread_.joinable()); }

void CallQueue::Start() {
  thread_ = std::thread([this] { ProceedUntilStopped(); });
}

void CallQueue::Stop() {
  queue_->Shutdown();
  thread_.join();
}

void CallQueue::ProceedUntilStopped() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) static_cast<Tag*>(tag)->Proceed(ok);
}

}  // namespace longshore::rpc
