#include "common/grpc/call_queue.h"

namespace longshore::rpc {

CallQueue::CallQueue(::grpc::ServerBuilder& builder) : queue_(builder.AddCompletionQueue()) {}

CallQueue::~CallQueue() { CHECK(!thread_.joinable()); }

void CallQueue::Start() {
  thread_ = std::thread([this] { ProceedUntilStopped(); });
}

void CallQueue::Stop() {
  for (int64_t left = calls_; left > 0; left = calls_) calls_.wait(left);
  queue_->Shutdown();
  thread_.join();
}

void CallQueue::Leave() {
  if (calls_.fetch_sub(1) == 1) calls_.notify_all();
}

void CallQueue::ProceedUntilStopped() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) static_cast<Tag*>(tag)->Proceed(ok);
}

}  // namespace longshore::rpc
