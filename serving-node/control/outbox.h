// The events for the next report, and the signal to send a report before its interval has passed.
//
// Shared by the agent and the callbacks that report to it, because a callback may still run while the agent is
// destroyed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>

namespace longshore::control {

// Thread-safe.
class Outbox {
 public:
  static constexpr size_t kEventsMax = 200;  // The oldest events above this number are dropped.

  void AddEvent(std::string event);
  // Ends the current Await, or the next one if none is running.
  void Wake();
  // Blocks until AddEvent or Wake is called, but at most for `time`.
  void Await(std::chrono::milliseconds time);

  std::deque<std::string> TakeEvents();
  // Takes back events that were taken but not sent, as the oldest ones.
  void PutBack(std::deque<std::string> events);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> events_;
  bool woken_ = false;
};

}  // namespace longshore::control
