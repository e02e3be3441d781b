#include "common/os/ticker.h"

namespace longshore {

Ticker::Ticker(std::chrono::milliseconds interval, std::function<void()> function, First first)
    : interval_(interval), function_(std::move(function)), thread_([this, first] { Tick(first); }) {}

Ticker::~Ticker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void Ticker::Tick(First first) {
  std::unique_lock lock(mutex_);
  if (first == First::kAfterInterval) stop_.wait_for(lock, interval_, [this] { return stopping_; });
  while (!stopping_) {
    lock.unlock();
    function_();
    lock.lock();
    stop_.wait_for(lock, interval_, [this] { return stopping_; });
  }
}

}  // namespace longshore
