// What code that moves connections to other processes knows of a connection of a server.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace longshore::http {

struct OpenConnection {
  double requests_per_second = 0;  // Since it was opened.
  // Asks the client to connect again. Its requests are answered before the connection ends. Thread-safe; has no effect
  // on a connection that has ended.
  std::function<void()> ask_to_move;
};

// The requests of one connection per second since it was opened. Thread-safe.
class RequestRate {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  void Add() { requests_.fetch_add(1, std::memory_order_relaxed); }
  double PerSecond(TimePoint now) const {
    constexpr std::chrono::duration<double> kAgeMin{0.1};  // So that one early request is not thousands per second.
    const std::chrono::duration<double> age = std::max<std::chrono::duration<double>>(now - began_at_, kAgeMin);
    return static_cast<double>(requests_.load(std::memory_order_relaxed)) / age.count();
  }

 private:
  const TimePoint began_at_ = std::chrono::steady_clock::now();
  std::atomic<int64_t> requests_ = 0;
};

}  // namespace longshore::http
