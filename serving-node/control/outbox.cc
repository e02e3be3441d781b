#include "serving-node/control/outbox.h"

#include <iterator>
#include <utility>

namespace longshore::control {

void Outbox::AddEvent(std::string event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    if (events_.size() > kEventsMax) events_.pop_front();
  }
  Wake();
}

void Outbox::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void Outbox::Await(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return woken_; });
  woken_ = false;
}

std::deque<std::string> Outbox::TakeEvents() {
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

void Outbox::PutBack(std::deque<std::string> events) {
  const std::lock_guard lock(mutex_);
  events_.insert(events_.begin(), std::make_move_iterator(events.begin()), std::make_move_iterator(events.end()));
  while (events_.size() > kEventsMax) events_.pop_front();
}

}  // namespace longshore::control
