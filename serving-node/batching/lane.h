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

// Who runs first: who came first, each step of priority counting as kHeadStart. No two are equal.
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
  int64_t bytes = 0;      // Of its inputs.
  std::string key{};      // Requests of one key may run together; "": runs alone.
  Duration least_run{0};  // What a run of it alone takes at least, and likely, as known when it came; 0: not known.
  Duration likely_run{0};
  bool ruled_out = false;  // It runs although it is said to be too late (Forecast::LetsThrough).
  uint64_t number = 0;     // Of its arrival.
  // Tells the queue of a cancellation. Destroying it waits for the call, so never under a lock that the call takes.
  std::unique_ptr<std::stop_callback<std::function<void()>>> on_cancel{};

  Rank rank() const { return {submitted - terms.priority * kHeadStart, number}; }
};
using Batch = std::vector<Task>;  // Of one key, in the order of their ranks.

// What leaves a lane together.
struct Taken {
  Batch batch;      // Empty when all of its kind were late.
  Batch late;       // Would not make their deadlines alone and at once, or were cancelled.
  TimePoint ready;  // When the batch waited for no more company.
};

class Lane {
 public:
  // Requests of further kinds run alone, so that a client with many shapes cannot make each step long.
  static constexpr size_t kKindsMax = 64;

  explicit Lane(const Options& options) : options_(options) {}

  size_t size() const { return size_; }
  // Whether requests of this kind may wait as such, and not as those that run alone.
  bool TakesKind(const std::string& key) const { return groups_.contains(key) || groups_.size() < kKindsMax; }
  // Whether the limits of the options leave room for so many requests of one kind, with so many rows together.
  bool HasRoom(const std::string& key, int64_t rows, size_t requests) const;
  // The bytes that a run of this one alone has.
  int64_t RunBytes(const Task& task) const;
  // Of those whose place this one could take the lowest, and of these the last: of a lower priority than its own, and
  // leaving enough for the limits.
  std::optional<Task> MakeRoom(const Task& task);
  // How long the runs likely take that begin before one more request of this kind without priority: full batches, or of
  // those that run alone each one.
  Duration WorkBefore(const Task& task, const Forecast& forecast, TimePoint now) const;

  void Push(Task task);
  // A batch of a run that failed: it runs before all others, as it is.
  void PushBatch(Batch batch);

  // From when on Take has a batch: when one is full, or a request has waited long enough. nullopt: empty.
  std::optional<TimePoint> ReadyAt() const;
  // Of the batches that are ready, the one with the first rank; Choose says who of its kind runs. Requires: ReadyAt()
  // <= now.
  Taken Take(TimePoint now, const Forecast& forecast);

  // Removes one request; nullopt when it does not wait any more.
  std::optional<Task> Remove(const std::string& key, const Rank& rank);
  // Removes what is past its deadline.
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
  Taken TakeAgain(TimePoint now);
  std::vector<std::map<Rank, Task>::iterator> Front(Groups::iterator group) const;
  // Takes it out of its group's sums, which may be left empty and not refreshed.
  Task Remove(Group& group, std::map<Rank, Task>::iterator task);
  void Tidy(Groups::iterator group);

  Options options_;
  bool delaying_ = true;
  size_t size_ = 0;
  std::array<size_t, kPriorityMax + 1> of_priority_{};  // How many tasks of the groups have it.
  Groups groups_;                                       // Never an empty group.
  std::deque<Batch> again_;                             // Never an empty batch.
};

}  // namespace longshore::batching
