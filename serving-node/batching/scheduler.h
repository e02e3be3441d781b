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

#include "serving-node/batching/forecast.h"
#include "serving-node/batching/turns.h"

namespace longshore::batching {

// Guarded by the scheduler's mutex, but for what is const.
struct Queue::State : Waiter, std::enable_shared_from_this<Queue::State> {
  State(std::shared_ptr<engine::LoadedModel> loaded, const Options& wanted, std::shared_ptr<Share> its_share,
        std::shared_ptr<RunWatch> its_watch)
      : Waiter(wanted, std::move(its_share)), model(std::move(loaded)), options(wanted), watch(std::move(its_watch)) {}

  // Until the queue is drained: an engine's thread must not be the last owner.
  std::shared_ptr<engine::LoadedModel> model;
  const Options options;
  const std::shared_ptr<RunWatch> watch;
  int64_t in_use = 0;                 // Requests whose done has not returned, and runs being started.
  std::set<std::string> unbatchable;  // Signatures whose outputs turned out not to have the rows of the inputs.
  Forecast forecast;
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
    TimePoint filled;  // When it waited for no more company.
    int64_t rows_padded = 0;
    int64_t bytes = 0;                              // Of its inputs, padded.
    Duration charged{0};                            // What its share was charged with when it began.
    std::shared_ptr<WatchedRun> watched = nullptr;  // Null: nobody looks into it.
  };
  using RunPtr = std::shared_ptr<Run>;
  // A request that waited in vain, until it is told so.
  struct Unrun {
    StatePtr queue;
    Task task;
    TimePoint at;
    bool cancelled() const { return task.terms.cancelled.stop_requested(); }
  };

  static Limits Normalized(Limits limits);
  static double SecondsOf(Duration duration) { return std::chrono::duration<double>(duration).count(); }
  void WatchCancellation(const StatePtr& queue, Task* task);
  void Cancel(const StatePtr& queue, const std::string& key, const Rank& rank);
  // These under the mutex.
  std::optional<Error> Refuse(Queue::State& queue, std::span<Task> tasks, TimePoint now,
                              std::optional<Task>* displaced);
  void Enqueue(const StatePtr& queue, Task task);
  void StartReady(TimePoint now);  // Moves batches into startable_ while slots are free.
  void Begin(const StatePtr& queue, Batch batch, TimePoint ready, TimePoint now);

  // Without the mutex: answers what is unrun and starts what is startable. `here`: a short run may be computed on this
  // thread, which has nothing else to do: no answer and no other deadline waits for it.
  void Pump(bool here);
  static void BeginWatch(Run& run, engine::RunRequest* request);
  static void EndWatch(Run& run, const Result<engine::RunResult>& result);
  void Start(const RunPtr& run, bool here);  // `here`: it may be computed on this thread.
  void Ended(const RunPtr& run, Result<engine::RunResult> result);
  void Finish(const RunPtr& run, Result<engine::RunResult> result, Duration held);  // `held`: the slot.
  void RunAgain(const RunPtr& run, bool each_alone);                                // Under the mutex.
  void FreeSlot(TimePoint now);                                                     // Under the mutex.
  void Answer(const StatePtr& queue, Task* task, Result<RunOutcome> outcome);
  void Release(const StatePtr& queue);  // One less in use.
  void Keep();                          // The timer thread.
  void DropExpired(TimePoint now);
  TimePoint ExpiryAt() const;  // When it is time to.
  TimePoint NextWake() const;

  mutable std::mutex mutex_;
  std::condition_variable timer_wake_;
  std::condition_variable answered_;
  Limits limits_;
  bool stopping_ = false;
  Turns turns_;
  std::map<std::string, std::weak_ptr<Share>> shares_;  // Of the queues that are there.
  std::deque<RunPtr> startable_;                        // Each holds a slot already.
  std::vector<Unrun> unrun_;
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
