// The threads that runs are computed on.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace longshore::engine::reference {

// Destroying it finishes what waits. Not to be destroyed by one of its own threads.
class Pool {
 public:
  Pool(int threads, size_t waiting_max);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Calls `work` on a thread of the pool, or `refuse` when waiting_max others wait already.
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

}  // namespace longshore::engine::reference
