#include "common/net/http2/notifications.h"

#include <utility>

namespace longshore::http2 {

// Wakes without the lock: on one processor the strand would run at once, and wait for it.
void Notifications::Add(std::shared_ptr<Stream> stream) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    waiting_.push_back(std::move(stream));
    if (std::exchange(is_woken_, true)) return;
  }
  try {
    waker_->Wake();
  } catch (...) {  // For lack of memory. Streams that were added meanwhile wait for the next call.
    const std::lock_guard lock(mutex_);
    is_woken_ = false;
    throw;
  }
}

void Notifications::Take(std::vector<std::shared_ptr<Stream>>& streams) {
  const std::lock_guard lock(mutex_);
  is_woken_ = false;
  waiting_.swap(streams);
}

void Notifications::Close() {
  std::vector<std::shared_ptr<Stream>> released;  // Outside the lock, because a stream may be destroyed.
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  waiting_.swap(released);
}

}  // namespace longshore::http2
