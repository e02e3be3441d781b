// The waiting requests of one queue, sorted into batches. No threads, no clock: time is an argument.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "serving-node/batching/batching.h"

namespace longshore::batching {

using TimePoint = Queue::TimePoint;

struct Task {
  engine::RunRequest request;
  Done done;
  TimePoint submitted;
  TimePoint deadline = TimePoint::max();
  int64_t rows = 0;
  std::string key{};  // Requests of one key may run together; "": runs alone.
};
using Batch = std::vector<Task>;  // Of one key, in the order of submission.

class Lane {
 public:
  explicit Lane(const Options& options) : options_(options) {}

  void Push(Task task);
  // Before all others: for requests that have waited for their turn already.
  void PushFirst(Task task);

  size_t size() const { return size_; }
  // Whether the limits of the options leave room for this one too.
  bool HasRoom(const Task& task) const;

  // From when on Take has a batch: when one is full, or the oldest request has waited long enough. nullopt: empty.
  std::optional<TimePoint> ReadyAt() const;

  // The batch that is ready for longest. Requires: ReadyAt() <= now.
  Batch Take(TimePoint now);

  // Removes what is past its deadline.
  std::vector<Task> TakeExpired(TimePoint now);
  TimePoint earliest_deadline() const;

  // From now on every request is ready at once.
  void StopDelaying();

 private:
  struct Group {
    std::deque<Task> tasks;
    int64_t rows = 0;
    TimePoint ready_at = TimePoint::max();
  };
  TimePoint ReadyAt(const Task& task) const;
  void Refresh(const std::string& key, Group* group) const;

  Options options_;
  bool delaying_ = true;
  size_t size_ = 0;
  std::map<std::string, Group> groups_;  // Never an empty group.
};

}  // namespace longshore::batching
