// The waiting requests of one queue, sorted into batches. No threads, no clock: time is an argument.
#pragma once

#include <compare>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "serving-node/batching/batching.h"

namespace longshore::batching {

using TimePoint = Queue::TimePoint;
using Duration = std::chrono::steady_clock::duration;

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
  std::string key{};      // Requests of one key may run together; "": runs alone.
  Duration least_run{0};  // What a run took at least, of late; 0: not known.
  uint64_t number = 0;    // Of its arrival.
  // Tells the queue of a cancellation. Destroying it waits for the call, so never under a lock that the call takes.
  std::unique_ptr<std::stop_callback<std::function<void()>>> on_cancel{};

  Rank rank() const { return {submitted - terms.priority * kHeadStart, number}; }
};
using Batch = std::vector<Task>;  // Of one key, in the order of their ranks.

class Lane {
 public:
  explicit Lane(const Options& options) : options_(options) {}

  size_t size() const { return size_; }
  // Whether the limits of the options leave room for so many requests of one kind, with so many rows together.
  bool HasRoom(const std::string& key, int64_t rows, size_t requests) const;
  // The lowest of those whose place this one could take: of lower priority, and enough for the limits.
  std::optional<Task> MakeRoom(const Task& task);
  // What a request of this kind without priority has before it, in full batches.
  int64_t BatchesWaiting(const std::string& key) const;

  void Push(Task task);
  // A batch of a run that failed: it runs before all others, as it is.
  void PushBatch(Batch batch);

  // From when on Take has a batch: when one is full, or a request has waited long enough. nullopt: empty.
  std::optional<TimePoint> ReadyAt() const;
  // Of the batches that are ready, the one with the first rank. Requires: ReadyAt() <= now.
  Batch Take(TimePoint now);

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
    TimePoint ready_at = TimePoint::max();
  };
  using Groups = std::map<std::string, Group>;

  TimePoint ReadyAt(const Task& task) const;
  bool IsFull(const std::string& key, const Group& group) const;
  void Refresh(const std::string& key, Group* group) const;
  Task Extract(Groups::iterator group, std::map<Rank, Task>::iterator task);

  Options options_;
  bool delaying_ = true;
  size_t size_ = 0;
  Groups groups_;            // Never an empty group.
  std::deque<Batch> again_;  // Never an empty batch.
};

}  // namespace longshore::batching
