// The waiting requests of one queue, grouped by kind into batches. No threads, no clock: time is an argument.
#pragma once

#include <array>
#include <compare>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "serving-node/batching/forecast.h"
#include "serving-node/batching/task.h"

namespace longshore::batching {

class Lane {
 public:
  // Maximum number of kinds. Requests of further kinds run alone: every operation scans all kinds, and a client with
  // many shapes must not make that slow.
  static constexpr size_t kKindsMax = 64;

  explicit Lane(const Options& options) : options_(options) {}

  size_t size() const { return size_; }
  // Whether requests of this kind may be batched; false: there are kKindsMax kinds already.
  bool TakesKind(const std::string& key) const { return groups_.contains(key) || groups_.size() < kKindsMax; }
  // Whether the limits of the options leave room for `requests` requests of one kind with `rows` rows in total.
  // `others`: the number of requests that wait in other queues of the same share, which count as well.
  bool HasRoom(const std::string& key, int64_t rows, size_t requests, size_t others = 0) const;
  // Returns the input bytes of a run of this task alone, padded to an allowed batch size.
  int64_t RunBytes(const Task& task) const;
  // Removes and returns one task of lower priority than `task` so that `task` fits the limits: of the tasks with the
  // lowest priority, the one with the last rank. Returns nullopt, and removes nothing, if the removal of one task is
  // not enough. `others` as for HasRoom.
  std::optional<Task> MakeRoom(const Task& task, size_t others = 0);
  // Removes and returns the task with the lowest priority below `priority` and the last rank; nullopt if there is none.
  std::optional<Task> RemoveLowest(int priority);
  // Returns the likely run time of the work that starts before `task`, if `task` has priority 0. This work is the full
  // batches of its kind or, if it runs alone, all tasks that run alone.
  Duration WorkBefore(const Task& task, const Forecast& forecast, TimePoint now) const;

  void Push(Task task);
  // Queues a batch of a failed run again. It runs before all others and is not joined with other tasks.
  void PushBatch(Batch batch);

  // Returns the time from which Take returns a batch, because a batch is full, a request has waited long enough, or
  // PushBatch added a batch; nullopt if there are no tasks.
  std::optional<TimePoint> ReadyAt() const;
  // Returns the rank of the first task of the batch that Take would return; the lowest rank for a batch of PushBatch.
  // Requires: ReadyAt() <= now.
  Rank FirstRank(TimePoint now) const;
  // Removes and returns a batch of PushBatch or, without one, tasks of one kind: of the kinds that are ready, the one
  // whose first task has the lowest rank. ChooseBatch (batch_choice.h) selects which of its tasks run. Requires:
  // ReadyAt() <= now.
  Taken Take(TimePoint now, const Forecast& forecast);

  // Removes and returns one request; returns nullopt if the request is not in the queue any more.
  std::optional<Task> Remove(const std::string& key, const Rank& rank);
  // Removes and returns the tasks whose deadlines have passed.
  std::vector<Task> TakeExpired(TimePoint now);
  TimePoint earliest_deadline() const;

  // From now on every request is ready immediately.
  void StopDelaying();

 private:
  struct Group {
    std::map<Rank, Task> tasks;
    int64_t rows = 0;
    int64_t bytes = 0;
    Duration likely{0};  // Sum of the likely_run of all tasks.
    TimePoint ready_at = TimePoint::max();
  };
  using Groups = std::map<std::string, Group>;

  TimePoint ReadyAt(const Task& task) const;
  bool IsFull(const std::string& key, const Group& group) const;
  void Refresh(const std::string& key, Group* group) const;
  bool RowsFit(const std::string& key, int64_t rows) const;
  Taken TakeRetry(TimePoint now);
  Groups::const_iterator FirstReady(TimePoint now) const;
  std::vector<std::map<Rank, Task>::iterator> Front(Groups::iterator group) const;
  // Removes the task and updates the sums of its group. The caller must call EraseOrRefresh on the group.
  Task Remove(Group& group, std::map<Rank, Task>::iterator task);
  // Erases the group if it is empty; otherwise computes its ready_at again.
  void EraseOrRefresh(Groups::iterator group);

  Options options_;
  bool delaying_ = true;
  size_t size_ = 0;
  std::array<size_t, kPriorityMax + 1> count_by_priority_{};  // Tasks in groups_ by priority.
  Groups groups_;                                             // No group is empty.
  std::deque<Batch> retries_;                                 // No batch is empty.
};

}  // namespace longshore::batching
