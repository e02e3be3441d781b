// Schedules the batches of all queues of a node: slots, turns and timers.
//
// A batch starts on the thread that made it startable (a submitter's, an engine's or the timer's). Starting is cheap:
// it joins tensors and passes them to the engine, which normally computes on its own threads. So a thread whose run has
// ended starts the next runs before it answers the requests of the old one. In the other order, the slot would be idle
// while the callbacks encode the answers, and that can take much longer than a start.
//
// There are three kinds of locks. The lock of a share guards the queues of one model (share.h). The lock of the turns
// guards what concerns all queues: the list of the queues in which requests wait (turns.h), the background requests and
// the timer. The third lock guards the list of the shares; only load and GetShare take it. A thread that holds the lock
// of the turns or of the list of the shares may take that of a share, but not the other way around, and no thread holds
// the locks of two shares. Requests are answered, and runs are started, without a lock (work.h).
//
// A request that need not wait takes only the lock of its share. Its slot is taken and freed with one change of an
// atomic word each (slots.h). A request that waits takes the lock of the turns only if
//   - its queue was empty, so that it is not in the list,
//   - it has displaced another request,
//   - its deadline is so near that the timer thread has to look at the queues earlier than it will (timer_at_), or
//   - a batch is ready, or will be before the timer thread looks. But if all slots are taken and marked as waited for,
//     the request takes no lock: the thread whose run ends next takes the lock of the turns and looks for batches.
// A background request always takes the lock of the turns. While it waits, users' requests take it no more often.
//
// Why no request is forgotten: the thread that pushes a request into its queue checks the last two conditions after the
// push. If it then takes no lock, it relies on another thread: on one whose run ends, or on that of the timer. The
// other thread first changes the state that was checked, and then looks at all queues: a run that ends frees its slot
// before StartReady looks, and RunTimer raises timer_at_ before it looks. The push and the look hold the lock of the
// share one after the other. If the push is first, the look finds the request. Otherwise the check sees the changed
// state. The marks and the slots are one atomic word, so a run that ends either sees the mark, or has freed its slot
// before the mark is set, and then the thread that sets it takes the slot instead. A queue that is not in the list yet
// is not found; the thread that puts it there looks at it, and wakes the timer for all its requests.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serving-node/batching/slots.h"
#include "serving-node/batching/turns.h"
#include "serving-node/batching/work.h"

namespace longshore::batching {

class Scheduler : public std::enable_shared_from_this<Scheduler> {
 public:
  explicit Scheduler(Limits limits);
  // Ends the timer thread; must be called before the last reference is released. Requires: all queues are drained.
  void Stop();

  void SetLimits(Limits limits);
  Load load() const;
  int64_t queued() const { return queued_.load(std::memory_order_relaxed); }
  // Returns the share with this name, and creates it if it does not exist. Each call with "" creates a share of its
  // own, which has no name.
  std::shared_ptr<Share> GetShare(const std::string& name);

  // Queues one request, or all tasks that one request was split into. If they are refused, every task gets the error.
  // `now` is the time of the call. Requires: at least one task.
  void Submit(const StatePtr& queue, std::span<Task> tasks, TimePoint now);
  // Queues one background request (Terms).
  void SubmitBackground(const StatePtr& queue, Task task);
  // Runs the waiting requests without delay, answers its waiting background requests with an error, and blocks until
  // all requests of the queue are answered.
  void Drain(const StatePtr& queue);

 private:
  // How the requests of a batch that has failed run again.
  enum class Again { kNot, kInHalves, kEachAlone };

  static Again AgainAfterError(const Run& run);

  // No lock is held when these are called.

  // Takes a slot for a request that need not wait. Returns null, and leaves the task as it is, if the request has to
  // pass through its queue.
  RunPtr BeginAtOnce(const StatePtr& queue, Task* task, TimePoint now);
  void WatchCancellation(const StatePtr& queue, Task* task);
  void Cancel(const StatePtr& queue, const std::string& key, const Rank& rank);
  // Answers the dropped requests and starts the runs; if this thread is within another call, at the end of that call.
  // `on_this_thread`: the caller has nothing else to do, so the engine may compute one short run on this thread.
  void Do(Work work, bool on_this_thread);
  void Perform(Work& work, bool on_this_thread);
  static void BeginWatch(Run& run, engine::RunRequest* request);
  static void EndWatch(Run& run, const Result<engine::RunResult>& result);
  void Start(const RunPtr& run, bool on_this_thread);
  void Ended(const RunPtr& run, Result<engine::RunResult> result);
  void Finish(const RunPtr& run, Result<engine::RunResult> result, TimePoint now);
  void PassOnSlot(const RunPtr& run, Again again);
  static void Answer(const StatePtr& queue, Task* task, Result<RunOutcome> outcome);
  static void Release(const StatePtr& queue);  // Decrements in_use.
  void RunTimer();                             // The function of the timer thread.

  // These require the lock of the queue's share.
  std::optional<Error> Refuse(const StatePtr& queue, std::span<Task> tasks, TimePoint now,
                              std::optional<Dropped>* displaced);
  static size_t OthersOf(const QueueState& queue);
  static std::optional<Dropped> MakeRoom(const StatePtr& queue, const Task& task, size_t others, TimePoint now);
  // Returns whether the lock of the turns has to be taken, as the comment at the top explains.
  bool Enqueue(QueueState& queue, std::span<Task> tasks, TimePoint now);
  RunPtr Begin(const StatePtr& queue, Batch batch, TimePoint ready, TimePoint now);
  void Charge(Run& run, TimePoint now);

  // These require the lock of the turns, and take those of shares.
  // While slots are free, takes them for ready batches and, if there are none, for background requests, and adds the
  // runs to `work`. The next two do that for one batch that has a slot, and for the background requests.
  void StartReady(TimePoint now, Work* work);
  void StartBatch(const StatePtr& queue, TimePoint now, Work* work);
  void StartBackground(TimePoint now, Work* work);
  void PushAgain(Run& run, Again again);
  TimePoint NextDeadline() const;
  static TimePoint NextDeadlineOf(const QueueState& queue);
  void DropExpired(TimePoint now, Work* work);
  void DropBackground(const StatePtr& drained, TimePoint now, Work* work);
  void WakeTimerAt(TimePoint at);

  // When the timer thread has to look for expired requests, if the earliest deadline is `deadline`.
  TimePoint ExpiryAt(TimePoint deadline) const;

  Slots slots_;
  std::atomic<Duration> simulated_run_;  // Limits::simulated_run.
  std::atomic<int64_t> queued_{0};
  std::atomic<uint64_t> arrivals_{0};  // The next Task::number.
  // The timer thread looks at all queues at this time or earlier. Written under the lock of the turns.
  std::atomic<TimePoint> timer_at_ = TimePoint::max();

  mutable std::mutex shares_mutex_;             // Guards the next two.
  std::vector<std::shared_ptr<Share>> shares_;  // All that have queues, and some that had.
  Usage past_;                                  // The counters of former shares.

  std::mutex turns_mutex_;  // The lock of the turns: guards the fields below.
  std::condition_variable timer_wake_;
  bool stopping_ = false;
  Turns turns_;
  std::deque<std::pair<StatePtr, Task>> background_;        // Background requests that wait.
  TimePoint background_deadline_ = TimePoint::max();        // A lower bound of their deadlines.
  std::multimap<TimePoint, std::function<void()>> timers_;  // Ends of simulated runs: at most one per slot.
  std::thread timer_;
};

}  // namespace longshore::batching
