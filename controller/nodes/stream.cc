#include "controller/nodes/stream.h"

namespace longshore::nodes {

void Stream::Push(control::FromController message) {
  queue_.push_back(std::move(message));
  WriteNext();
}

void Stream::End(grpc::Status status) {
  if (std::exchange(finished_, true)) return;
  Finish(std::move(status));
}

void Stream::WriteNext() {
  if (writing_ || finished_ || queue_.empty()) return;
  writing_ = true;
  StartWrite(&queue_.front());
}

void Stream::OnReadDone(bool ok) {
  if (!ok) {
    const std::scoped_lock lock(owner_.mutex());
    End(grpc::Status::OK);
    return;
  }
  owner_.Received(*this, incoming_);
  const std::scoped_lock lock(owner_.mutex());
  if (!finished_) StartRead(&incoming_);
}

void Stream::OnWriteDone(bool ok) {
  const std::scoped_lock lock(owner_.mutex());
  writing_ = false;
  queue_.pop_front();
  if (ok) WriteNext();
}

void Stream::OnCancel() {
  const std::scoped_lock lock(owner_.mutex());
  End(grpc::Status::CANCELLED);
}

void Stream::OnDone() {
  owner_.Ended(*this);
  delete this;
}

}  // namespace longshore::nodes
