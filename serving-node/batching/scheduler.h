// The one place where the queues of a node meet: slots, turns and timers, under one mutex.
//
// Batches start on whatever thread made them startable (a submitter, an engine's, the timer's): starting only joins
// tensors and hands them to the engine, which computes on its own threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>

#include "serving-node/batching/run_times.h"
#include "serving-node/batching/turns.h"

namespace longshore::batching {

// Guarded by the scheduler's mutex, but for what is const.
struct Queue::State : Waiter, std::enable_shared_from_this<Queue::State> {
  State(std::shared_ptr<engine::LoadedModel> loaded, const Options& wanted, std::shared_ptr<Share> its_share)
      : Waiter(wanted, std::move(its_share)), model(std::move(loaded)), options(wanted) {}

  // What a run of so many rows takes at least; 0: not known.
  Duration AtLeast(const std::string& signature, int64_t rows, TimePoint now) const;

  // Until the queue is drained: an engine's thread must not be the last owner.
  std::shared_ptr<engine::LoadedModel> model;
  const Options options;
  int64_t in_use = 0;                         // Requests whose done has not returned, and runs being started.
  std::set<std::string> unbatchable;          // Signatures whose outputs turned out not to have the rows of the inputs.
  std::map<std::string, RunTimes> run_times;  // By signature; only the model's own.
};

class Scheduler : public std::enable_shared_from_this<Scheduler> {
 public:
  using StatePtr = std::shared_ptr<Queue::State>;

  explicit Scheduler(Limits limits);
  // Ends the timer. Requires: all queues are drained. Before the last reference goes.
  void Stop();

  void SetLimits(Limits limits);
  Load load() const;
  int64_t queued() const { return queued_.load(std::memory_order_relaxed); }
  std::shared_ptr<Share> ShareOf(const std::string& name);

  // One request, or the parts of one: all of them wait, or none does and each is answered so. Requires: at least one.
  void Submit(const StatePtr& queue, std::span<Task> tasks);
  // Runs what waits without delay, and waits for the last answer.
  void Drain(const StatePtr& queue);

 private:
  struct Run {
    StatePtr queue;
    Batch batch;
    TimePoint started;
    int64_t rows_padded = 0;
    TimePoint filled = TimePoint::min();  // When it waited for no more company.
    Duration at_least{0};                 // What it takes, by the runs of late; its share is charged with it.
  };
  using RunPtr = std::shared_ptr<Run>;

  static Limits Normalized(Limits limits);
  static int64_t RowsToRun(const Run& run);  // With padding.
  void WatchCancellation(const StatePtr& queue, Task* task);
  void Cancel(const StatePtr& queue, const std::string& key, const Rank& rank);
  // These three under the mutex.
  std::optional<Error> Refuse(Queue::State& queue, std::span<Task> tasks, TimePoint now,
                              std::optional<Task>* displaced);
  void Enqueue(const StatePtr& queue, Task task);
  void StartReady(TimePoint now);  // Moves batches into startable_ while slots are free.

  // Without the mutex: starts what is startable. `here`: a short run may be computed on this thread, which has nothing
  // else to do: no answer and no other deadline waits for it.
  void Pump(bool here);
  void Start(const RunPtr& run, bool here);  // `here`: it may be computed on this thread.
  bool AnswerHopeless(const RunPtr& run);    // Whether something is left to run.
  void Ended(const RunPtr& run, Result<engine::TensorMap> outputs);
  void Finish(const RunPtr& run, Result<engine::TensorMap> outputs, Duration took);
  void RunAgain(const RunPtr& run, bool each_alone);  // Under the mutex.
  void FreeSlot(TimePoint now);                       // Under the mutex.
  void Answer(const StatePtr& queue, Task* task, Result<RunOutcome> outcome);
  void Release(const StatePtr& queue);  // One less in use.
  void Keep();                          // The timer thread.
  std::vector<std::pair<StatePtr, Task>> TakeExpired(TimePoint now);
  TimePoint NextWake() const;

  mutable std::mutex mutex_;
  std::condition_variable timer_wake_;
  std::condition_variable answered_;
  Limits limits_;
  bool stopping_ = false;
  Turns turns_;
  std::map<std::string, std::weak_ptr<Share>> shares_;      // Of the queues that are there.
  std::deque<RunPtr> startable_;                            // Each holds a slot already.
  std::multimap<TimePoint, std::function<void()>> timers_;  // Ends of simulated runs: at most one per slot.
  TimePoint next_deadline_ = TimePoint::max();              // No waiting request's deadline is before it.
  TimePoint timer_at_ = TimePoint::max();                   // When the timer thread wakes by itself.
  Load load_;                                               // But for what is read from elsewhere.
  std::atomic<int64_t> queued_{0};                          // Written under the mutex.
  std::atomic<uint64_t> arrivals_{0};
  const TimePoint born_ = std::chrono::steady_clock::now();
  Duration busy_{0};  // Ends minus starts of runs since born_; those under way lack their end.
  std::thread timer_;
};

}  // namespace longshore::batching
