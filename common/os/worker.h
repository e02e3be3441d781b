// One thread for slow tasks such as flushes to the disk, so that the threads of requests do not wait for them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace longshore {

// Runs the posted tasks in order. Thread-safe.
class Worker {
 public:
  explicit Worker(size_t waiting_max = 1000);
  ~Worker();  // Runs the tasks that still wait, then returns. Requires: Post is not called any more.
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Never blocks. Returns false and drops the task if waiting_max tasks wait already.
  bool Post(std::function<void()> task);
  // Blocks until all tasks that were posted before this call have run.
  void Flush();

 private:
  void Work();

  const size_t waiting_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace longshore
