// Which objects are to be looked at, and when. Each key waits at most once, however often it is added.
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

  // Look at it within this time. A key that waits already keeps the earlier of both times.
  void Add(const api::Key& key, std::chrono::microseconds after = std::chrono::microseconds(0));
  // Looking failed: again after a pause that doubles with each failure in a row.
  void AddAfterFailure(const api::Key& key);
  // Looking worked: the next failure begins with the shortest pause again.
  void Succeeded(const api::Key& key);

  // Waits for the next key and takes it out; nothing once stopped, or once after a nudge.
  std::optional<api::Key> Take();
  // Ends a Take that waits, or else the next one: there is something else to do.
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
  std::set<std::pair<Time, api::Key>> by_time_;  // The same.
  std::map<api::Key, int> failures_;
};

}  // namespace longshore::runtime
