// One thread that does the same again and again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace longshore {

//   Ticker ticker(1s, [this] { Look(); });  // Declared last: the function uses what stands before it.
class Ticker {
 public:
  enum class First { kAfterInterval, kNow };

  // Calls the function on its own thread until it is destroyed, with the interval between the end of one call and the
  // beginning of the next.
  Ticker(std::chrono::milliseconds interval, std::function<void()> function, First first = First::kAfterInterval);
  ~Ticker();  // Waits for a call that is under way, and for no interval.
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
