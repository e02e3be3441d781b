// What code that moves connections to other processes knows of a connection of a server.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace longshore::http {

struct OpenConnection {
  double requests_per_second = 0;  // In the last seconds.
  // Asks the client to connect again. Its requests are answered before the connection ends. Thread-safe; has no effect
  // on a connection that has ended.
  std::function<void()> ask_to_move;
};

// The requests of one connection per second, in the last 2 to 4 seconds or since it was opened. Thread-safe.
class RequestRate {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit RequestRate(TimePoint opened_at = std::chrono::steady_clock::now())
      : older_{opened_at, 0}, newer_{opened_at, 0} {}

  void Add() { requests_.fetch_add(1, std::memory_order_relaxed); }
  // Forgets what is too old. Call it regularly.
  void Forget(TimePoint now) {
    constexpr std::chrono::seconds kWindow{2};
    const std::lock_guard lock(mutex_);
    if (now - newer_.at < kWindow) return;
    older_ = std::exchange(newer_, {now, requests_.load(std::memory_order_relaxed)});
  }
  double PerSecond(TimePoint now) const {
    constexpr std::chrono::duration<double> kTimeMin{0.1};  // So that one early request is not thousands per second.
    const std::lock_guard lock(mutex_);
    const std::chrono::duration<double> time = std::max<std::chrono::duration<double>>(now - older_.at, kTimeMin);
    return static_cast<double>(requests_.load(std::memory_order_relaxed) - older_.requests) / time.count();
  }

 private:
  struct Count {
    TimePoint at;
    int64_t requests = 0;  // Since the connection was opened.
  };

  std::atomic<int64_t> requests_ = 0;
  mutable std::mutex mutex_;
  Count older_;  // Guarded by the mutex, like newer_.
  Count newer_;
};

}  // namespace longshore::http
