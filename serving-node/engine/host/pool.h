// The threads that compute runs.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace longshore::engine::host {

// The destructor finishes all queued work. It must not be called on one of the pool's own threads.
class Pool {
 public:
  Pool(int threads, size_t waiting_max);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Calls `work` on a thread of the pool, or `refuse` if waiting_max others are queued already. Throws std::bad_alloc
  // if memory does not suffice to queue it; then neither is called. The pool catches exceptions of both and continues.
  void Post(std::function<void()> work, std::function<void()> refuse);

 private:
  void Loop();

  const size_t waiting_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool is_closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace longshore::engine::host
