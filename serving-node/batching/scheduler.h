// Schedules the batches of all queues of a node: slots, turns and timers, under one mutex.
//
// A batch starts on the thread that made it startable (a submitter's, an engine's or the timer's). Starting is cheap:
// it joins tensors and passes them to the engine, which normally computes on its own threads.
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
#include <utility>

#include "serving-node/batching/forecast.h"
#include "serving-node/batching/run_watch.h"
#include "serving-node/batching/turns.h"

namespace longshore::batching {

// Guarded by the scheduler's mutex, except for the const members.
struct QueueState : Waiter, std::enable_shared_from_this<QueueState> {
  QueueState(std::shared_ptr<engine::LoadedModel> loaded, const Options& wanted, std::shared_ptr<Share> its_share,
             std::shared_ptr<RunWatch> its_watch)
      : Waiter(wanted, std::move(its_share)), model(std::move(loaded)), options(wanted), watch(std::move(its_watch)) {}

  // Reset when the queue is drained: a thread of the engine must not be the last owner of its model.
  std::shared_ptr<engine::LoadedModel> model;
  const Options options;
  const std::shared_ptr<RunWatch> watch;
  std::set<std::string> unbatchable;  // Signatures whose outputs did not have one row per input row.
  Forecast forecast;
  // Requests whose done callback has not returned, plus runs being started. Changed without the mutex, too.
  std::atomic<int64_t> in_use = 0;
};

class Scheduler : public std::enable_shared_from_this<Scheduler> {
 public:
  using StatePtr = std::shared_ptr<QueueState>;

  explicit Scheduler(Limits limits);
  // Ends the timer thread; must be called before the last reference is released. Requires: all queues are drained.
  void Stop();

  void SetLimits(Limits limits);
  Load load() const;
  int64_t queued() const { return queued_.load(std::memory_order_relaxed); }
  std::shared_ptr<Share> GetShare(const std::string& name);

  // Queues one request, or all tasks that one request was split into; if they are refused, every task gets the error.
  // Requires: at least one task.
  void Submit(const StatePtr& queue, std::span<Task> tasks);
  // Queues one background request (Terms).
  void SubmitBackground(const StatePtr& queue, Task task);
  // Runs the waiting requests without delay, and blocks until all are answered.
  void Drain(const StatePtr& queue);

 private:
  struct Run {
    StatePtr queue;
    Batch batch;
    TimePoint started;
    TimePoint filled;  // When the batch stopped waiting for more requests.
    int64_t rows_padded = 0;
    int64_t bytes = 0;    // Size of the padded inputs.
    Duration charged{0};  // Time charged to the queue's share when the run began.
    Duration least{0};    // How long the run keeps its slot at least.
    bool background = false;
    std::shared_ptr<WatchedRun> watched = nullptr;  // Null: the run is not recorded.
  };
  using RunPtr = std::shared_ptr<Run>;
  // A request that has left its queue without running and is not answered yet.
  struct Dropped {
    StatePtr queue;
    Task task;
    TimePoint at;
    bool cancelled() const { return task.terms.cancelled.stop_requested(); }
  };

  static Limits Normalized(Limits limits);
  static double SecondsOf(Duration duration) { return std::chrono::duration<double>(duration).count(); }
  void WatchCancellation(const StatePtr& queue, Task* task);
  void Cancel(const StatePtr& queue, const std::string& key, const Rank& rank);
  // The functions down to Begin require that the mutex is held.
  std::optional<Error> Refuse(const StatePtr& queue, std::span<Task> tasks, TimePoint now,
                              std::optional<Dropped>* displaced);
  size_t OthersOf(const QueueState& queue) const;
  std::optional<Dropped> MakeRoom(const StatePtr& queue, const Task& task, size_t others, TimePoint now);
  void Enqueue(const StatePtr& queue, Task task);
  void StartReady(TimePoint now);  // Moves batches into startable_ while slots are free.
  void StartBackground(TimePoint now);
  void AddStartable(RunPtr run);
  void Drop(const StatePtr& queue, Task task, TimePoint now);
  RunPtr Begin(const StatePtr& queue, Batch batch, TimePoint ready, TimePoint now);

  // Takes a slot for a request that need not wait. Returns null, and leaves the task as it is, if the request has to
  // pass through its queue. Requires that the mutex is not held.
  RunPtr BeginAtOnce(const StatePtr& queue, Task* task);
  // Starts the run, if it is not null, and the startable runs, and answers the dropped requests. Requires that the
  // mutex is not held. `on_this_thread`: the caller has nothing else to do, so the engine may compute one short run on
  // this thread.
  void Pump(bool on_this_thread, const RunPtr& first = nullptr);
  void PumpSome(bool on_this_thread);
  static void BeginWatch(Run& run, engine::RunRequest* request);
  static void EndWatch(Run& run, const Result<engine::RunResult>& result);
  void Start(const RunPtr& run, bool on_this_thread);  // `on_this_thread` as for Pump.
  void Ended(const RunPtr& run, Result<engine::RunResult> result);
  void Finish(const RunPtr& run, Result<engine::RunResult> result, TimePoint now);
  void Retry(const RunPtr& run, bool each_alone);  // Under the mutex.
  void FreeSlot(const Run& run, TimePoint now);    // Under the mutex.
  static void Answer(const StatePtr& queue, Task* task, Result<RunOutcome> outcome);
  static void Release(const StatePtr& queue);  // Decrements in_use.
  void RunTimer();                             // The function of the timer thread.
  void DropExpired(TimePoint now);
  void DropBackground(const StatePtr& drained, TimePoint now);  // Under the mutex.
  TimePoint ExpiryAt() const;                                   // When DropExpired should run next.
  TimePoint NextWake() const;

  mutable std::mutex mutex_;
  std::condition_variable timer_wake_;
  Limits limits_;
  bool stopping_ = false;
  Turns turns_;
  std::map<std::string, std::weak_ptr<Share>> shares_;  // Key: name.
  std::deque<RunPtr> startable_;                        // Each run holds a slot already.
  std::vector<Dropped> dropped_;
  // False: startable_ and dropped_ are empty. Written under the mutex. A thread may read it without the mutex to find
  // out whether it has to pump: it sees its own writes, and whoever adds work to the lists pumps afterwards.
  std::atomic<bool> has_work_ = false;
  std::deque<std::pair<StatePtr, Task>> background_;        // Background requests that wait.
  int64_t background_running_ = 0;                          // Part of load_.running.
  std::multimap<TimePoint, std::function<void()>> timers_;  // Ends of simulated runs: at most one per slot.
  TimePoint next_deadline_ = TimePoint::max();              // A lower bound of the waiting requests' deadlines.
  TimePoint timer_at_ = TimePoint::max();                   // When the timer thread wakes next without a notification.
  Load load_;                                               // load() adds the fields that it computes.
  std::atomic<int64_t> queued_{0};                          // Written under the mutex.
  std::atomic<uint64_t> arrivals_{0};
  const TimePoint born_ = std::chrono::steady_clock::now();
  // When a run begins, it subtracts (begin - born_); when it ends, it adds (end - born_). load() adds (now - born_) for
  // each current run, which gives the busy time of all runs.
  Duration busy_{0};
  std::thread timer_;
};

}  // namespace longshore::batching
