// The waiting requests of one queue, sorted into batches. No threads, no clock: time is an argument.
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

namespace longshore::batching {

// The order in which requests run: by arrival, moved forward by kHeadStart per step of priority. Unique per request.
struct Rank {
  TimePoint time;
  uint64_t number = 0;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

struct Task {
  engine::RunRequest request;
  Done done;
  TimePoint submitted;
  Terms terms{};
  int64_t rows = 0;
  int64_t bytes = 0;      // Size of the inputs.
  std::string key{};      // Requests of one key may run together; "": runs alone.
  Duration least_run{0};  // The least and the likely time of a run of it alone, as known on arrival; 0: unknown.
  Duration likely_run{0};
  bool is_probe = false;  // A probe: runs although it is expected to be too late (Forecast::AllowProbe).
  uint64_t number = 0;    // Arrival number, unique in the node.
  // Removes the task from its queue on cancellation. The destructor waits for a running callback, so it must not run
  // under a lock that the callback takes.
  std::unique_ptr<std::stop_callback<std::function<void()>>> on_cancel{};

  Rank rank() const { return {submitted - terms.priority * kHeadStart, number}; }
};
using Batch = std::vector<Task>;  // Tasks of one key, in order of rank.

// The tasks that one call of Take removes.
struct Taken {
  Batch batch;      // Empty if all candidates were late.
  Batch late;       // Cannot meet their deadlines even alone and now, or were cancelled.
  TimePoint ready;  // When the batch stopped waiting for more requests.
};

class Lane {
 public:
  // Requests of further kinds run alone: every operation scans all kinds, and a client with many shapes must not make
  // that slow.
  static constexpr size_t kKindsMax = 64;

  explicit Lane(const Options& options) : options_(options) {}

  size_t size() const { return size_; }
  // Whether requests of this kind may be batched; false: there are kKindsMax kinds already.
  bool TakesKind(const std::string& key) const { return groups_.contains(key) || groups_.size() < kKindsMax; }
  // Whether the limits of the options leave room for `requests` requests of one kind with `rows` rows in total.
  bool HasRoom(const std::string& key, int64_t rows, size_t requests) const;
  // The input bytes of a run of this task alone, padded to an allowed batch size.
  int64_t RunBytes(const Task& task) const;
  // Removes one task of lower priority so that `task` fits the limits: of the lowest priority, the one with the last
  // rank. nullopt if no removal of one task is enough.
  std::optional<Task> MakeRoom(const Task& task);
  // The likely run time of the work that starts before `task` if it has priority 0: the full batches of its kind, or
  // for tasks that run alone all such tasks.
  Duration WorkBefore(const Task& task, const Forecast& forecast, TimePoint now) const;

  void Push(Task task);
  // Queues a batch of a failed run again. It runs before all others and is not joined with other tasks.
  void PushBatch(Batch batch);

  // The time from which Take returns a batch: when a batch is full or a request has waited long enough. nullopt: empty.
  std::optional<TimePoint> ReadyAt() const;
  // Takes tasks of the kind that is ready and holds the lowest rank; ChooseBatch (company.h) selects which of them run.
  // Requires: ReadyAt() <= now.
  Taken Take(TimePoint now, const Forecast& forecast);

  // Removes one request; nullopt if it is not in the queue any more.
  std::optional<Task> Remove(const std::string& key, const Rank& rank);
  // Removes the tasks whose deadlines have passed.
  std::vector<Task> TakeExpired(TimePoint now);
  TimePoint earliest_deadline() const;

  // From now on every request is ready at once.
  void StopDelaying();

 private:
  struct Group {
    std::map<Rank, Task> tasks;
    int64_t rows = 0;
    int64_t bytes = 0;
    Duration likely{0};  // Sum of their likely_run.
    TimePoint ready_at = TimePoint::max();
  };
  using Groups = std::map<std::string, Group>;

  TimePoint ReadyAt(const Task& task) const;
  bool IsFull(const std::string& key, const Group& group) const;
  void Refresh(const std::string& key, Group* group) const;
  bool RowsFit(const std::string& key, int64_t rows) const;
  Taken TakeRetry(TimePoint now);
  std::vector<std::map<Rank, Task>::iterator> Front(Groups::iterator group) const;
  // Removes the task and updates the sums of its group. The caller must call EraseOrRefresh on the group.
  Task Remove(Group& group, std::map<Rank, Task>::iterator task);
  // Erases the group if it is empty; otherwise computes its ready_at again.
  void EraseOrRefresh(Groups::iterator group);

  Options options_;
  bool delaying_ = true;
  size_t size_ = 0;
  std::array<size_t, kPriorityMax + 1> count_by_priority_{};  // Tasks in groups_ by priority.
  Groups groups_;                                             // Never an empty group.
  std::deque<Batch> retries_;                                 // Never an empty batch.
};

}  // namespace longshore::batching
