// Calls GoldenRuns::Step on a thread of its own.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "serving-node/golden_set/golden_runs.h"

namespace longshore::golden_set {

class GoldenThread {
 public:
  explicit GoldenThread(GoldenRuns& runs) : runs_(runs), thread_([this] { Loop(); }) {}
  // Waits for the record that runs.
  ~GoldenThread() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stop_.notify_all();
    thread_.join();
  }
  GoldenThread(const GoldenThread&) = delete;
  GoldenThread& operator=(const GoldenThread&) = delete;

 private:
  void Loop() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      lock.unlock();
      const auto pause = runs_.Step();
      lock.lock();
      stop_.wait_for(lock, pause, [this] { return stopping_; });
    }
  }

  GoldenRuns& runs_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace longshore::golden_set
