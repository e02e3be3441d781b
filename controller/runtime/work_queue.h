// Queue of objects to reconcile, each with the time when it is due. A key is in the queue at most once, however often
// it is added.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "controller/api/types.h"

namespace longshore::runtime {

struct QueueOptions {
  std::chrono::milliseconds backoff_min{100};
  std::chrono::milliseconds backoff_max{10000};
};

// Thread-safe. Keys come out in the order of their times.
class WorkQueue {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit WorkQueue(QueueOptions options = {}) : options_(options) {}

  // Adds the key, which is due after `after`. A key that is queued already keeps the earlier of both times.
  void Add(const api::Key& key, std::chrono::microseconds after = std::chrono::microseconds(0));
  // Call after a failure: adds the key with a delay that doubles with each failure in a row.
  void AddAfterFailure(const api::Key& key);
  // Call after a success: the next failure starts with the shortest delay.
  void Succeeded(const api::Key& key);

  // Waits for the next key and removes it. Returns nullopt after Stop, once after Nudge, and if no key was due within
  // wait_max.
  std::optional<api::Key> Take(std::chrono::milliseconds wait_max = std::chrono::hours(1));
  // Makes the current or the next Take return nullopt, so that the thread that calls Take can do other work.
  void Nudge();
  void Stop();
  bool is_stopped() const;

 private:
  const QueueOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  bool nudged_ = false;
  std::map<api::Key, Time> due_;
  std::set<std::pair<Time, api::Key>> by_time_;  // The same entries ordered by time.
  std::map<api::Key, int> failures_;
};

}  // namespace longshore::runtime
