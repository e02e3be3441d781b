// Calls a function periodically on its own thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace longshore {

//   Ticker ticker(1s, [this] { Reload(); });  // Declare it last: the function uses the members before it.
class Ticker {
 public:
  enum class First { kAfterInterval, kNow };

  // Calls the function on a separate thread until the ticker is destroyed. The interval is the time between the end of
  // one call and the beginning of the next.
  Ticker(std::chrono::milliseconds interval, std::function<void()> function, First first = First::kAfterInterval);
  ~Ticker();  // Waits for a call in progress, but not for the rest of an interval.
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  void Tick(First first);

  const std::chrono::milliseconds interval_;
  const std::function<void()> function_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace longshore
