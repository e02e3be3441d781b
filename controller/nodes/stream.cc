#include "controller/nodes/stream.h"

#include "common/net/grpc_server/messages.h"
#include "common/os/log.h"

namespace longshore::nodes {

Lock::~Lock() {
  const auto changed = std::exchange(owner_.changed_, {});
  lock_.unlock();
  for (const auto& stream : changed) stream->SendOrEnd();
}

void Stream::Start() {
  call_->AfterEnd([self = shared_from_this()] { self->owner_.Ended(*self); });
  Read();
}

void Stream::Push(control::FromController message) {
  if (finished()) return;
  queue_.push_back(std::move(message));
  owner_.changed_.push_back(shared_from_this());
}

void Stream::End(Status status) {
  if (finished()) return;
  end_ = std::move(status);
  queue_.clear();
  owner_.changed_.push_back(shared_from_this());
}

void Stream::SendOrEnd() noexcept {
  try {
    Send();
  } catch (const std::exception& error) {
    EndAfter(error);
  }
}

// The message is lost, so the node must connect again: its hello then tells which state it holds. If memory does not
// even suffice for the end, the node gets no more heartbeats, and connects again for this reason.
void Stream::EndAfter(const std::exception& error) noexcept {
  try {
    const std::string& node = key.second.empty() ? call_->peer().address : key.second;
    spdlog::error("cannot send to node {}, its stream ends: {}", node, error.what());
    call_->Finish(Unavailable("the controller could not send a message"));
  } catch (const std::exception&) {
  }
}

void Stream::Send() {
  control::FromController message;
  {
    std::unique_lock lock(owner_.mutex_);
    if (finished()) {
      lock.unlock();
      return call_->Finish(*end_);  // It does not change any more.
    }
    if (writing_ || queue_.empty()) return;
    writing_ = true;
    message = std::move(queue_.front());
    queue_.pop_front();
  }
  call_->Write(grpc_server::ToPieces(message), [self = shared_from_this()](bool ok) { self->OnWritten(ok); });
}

void Stream::OnWritten(bool ok) {
  {
    const std::scoped_lock lock(owner_.mutex_);
    writing_ = false;
  }
  if (ok) Send();
}

void Stream::Read() {
  call_->Read([self = shared_from_this()](const std::optional<Pieces>& bytes) { self->OnRead(bytes); });
}

void Stream::OnRead(const std::optional<Pieces>& bytes) {
  if (!bytes) return EndNow({});
  if (const Status read = grpc_server::Parse(*bytes, &incoming_); !read) return EndNow(read);
  owner_.Received(*this, incoming_);
  {
    const std::scoped_lock lock(owner_.mutex_);
    if (finished()) return;
  }
  Read();
}

void Stream::EndNow(Status status) {
  const Lock lock(owner_);
  End(std::move(status));
}

}  // namespace longshore::nodes
