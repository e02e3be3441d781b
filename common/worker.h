// One thread for what may take long (a flush to the disk), so that the threads of requests need not wait for it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace longshore {

// Does what is posted, in order. Thread-safe.
class Worker {
 public:
  explicit Worker(size_t waiting_max = 1000);
  ~Worker();  // Does what still waits. Nobody posts any more.
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Never waits. False when too much waits already; the task is dropped then.
  bool Post(std::function<void()> task);
  // Waits until what was posted before is done.
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
