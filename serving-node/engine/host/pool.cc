#include "serving-node/engine/host/pool.h"

#include <utility>

namespace longshore::engine::host {

Pool::Pool(int threads, size_t waiting_max) : waiting_max_(waiting_max) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

Pool::~Pool() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Pool::Post(std::function<void()> work, std::function<void()> refuse) {
  {
    const std::lock_guard lock(mutex_);
    // A rejection goes to the front of the queue, because it is quick and holds no inputs. It runs on a thread of the
    // pool, because the caller may hold a lock.
    if (waiting_.size() >= waiting_max_)
      waiting_.push_front(std::move(refuse));
    else
      waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void Pool::Loop() {
  while (true) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_closing_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    try {
      work();
    } catch (...) {  // An answer was lost, for example because its receiver ran out of memory.
    }
  }
}

}  // namespace longshore::engine::host
