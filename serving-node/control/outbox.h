// What makes a report go out before its time, and the events that go with it.
//
// Shared by the agent and by those who tell it something: one that still tells while the agent ends finds it here.
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
  static constexpr size_t kEventsMax = 200;  // The oldest go.

  void AddEvent(std::string event);
  // Ends an Await that is under way, or the next one.
  void Wake();
  // Until an event or a wake came, or the time is over.
  void Await(std::chrono::milliseconds time);

  std::deque<std::string> TakeEvents();
  // Events that were taken and did not reach a controller.
  void PutBack(std::deque<std::string> events);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> events_;
  bool woken_ = false;
};

}  // namespace longshore::control
