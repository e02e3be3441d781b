#include "common/os/worker.h"

#include <future>

namespace longshore {

Worker::Worker(size_t waiting_max) : waiting_max_(waiting_max), thread_([this] { Work(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

bool Worker::Post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= waiting_max_) return false;
    waiting_.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

void Worker::Flush() {
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back([&done] { done.set_value(); });
  }
  changed_.notify_one();
  done.get_future().wait();
}

void Worker::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    auto task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // Frees what the task holds before the next one begins.
    lock.lock();
  }
}

}  // namespace longshore
