// Admission of requests and the order of batches; scheduler_runs.cc runs the batches.
#include "serving-node/batching/scheduler.h"

#include <algorithm>
#include <utility>

#include "common/os/processors.h"
#include "serving-node/batching/refusals.h"
#include "serving-node/batching/rows.h"

namespace longshore::batching {
namespace {

using std::chrono::steady_clock;

// Between two scans for expired requests at least this time passes, and the same time again per hundred waiting
// requests: scanning all of them holds locks and must not delay other requests.
constexpr auto kExpiryGrain = std::chrono::milliseconds(1);

int LimitOf(const Limits& limits) {
  const int wanted = limits.concurrent_runs_max > 0 ? limits.concurrent_runs_max : Processors();
  return std::clamp(wanted, 1, kConcurrentRunsMax);
}

}  // namespace

Scheduler::Scheduler(Limits limits)
    : slots_(LimitOf(limits)), simulated_run_(limits.simulated_run), timer_([this] { RunTimer(); }) {}

void Scheduler::Stop() {
  {
    const std::lock_guard lock(turns_mutex_);
    CHECK(turns_.waiting().empty() && slots_.all_free());
    stopping_ = true;
  }
  timer_wake_.notify_all();
  timer_.join();
}

void Scheduler::SetLimits(Limits limits) {
  Work work;
  const int limit = LimitOf(limits);
  {
    const std::lock_guard lock(turns_mutex_);
    simulated_run_ = limits.simulated_run;
    slots_.SetLimit(limit);
    StartReady(steady_clock::now(), &work);
  }
  Do(std::move(work), false);
}

Load Scheduler::load() const {
  const std::lock_guard lock(shares_mutex_);
  Usage total = past_;
  const TimePoint now = steady_clock::now();
  for (const auto& share : shares_) {
    const std::lock_guard share_lock(share->mutex);
    total.Add(share->usage, now);
  }
  Load load;
  total.WriteTo(&load);
  load.running = slots_.running();
  load.queued = queued();
  load.concurrent_runs_max = slots_.limit();
  return load;
}

std::shared_ptr<Share> Scheduler::GetShare(const std::string& name) {
  const std::lock_guard lock(shares_mutex_);
  std::erase_if(shares_, [this](const auto& share) {
    if (share.use_count() > 1) return false;
    const std::lock_guard share_lock(share->mutex);
    past_.Add(share->usage, steady_clock::now());
    return true;
  });
  const auto named = std::ranges::find(shares_, name, [](const auto& share) { return share->name; });
  if (!name.empty() && named != shares_.end()) return *named;
  return shares_.emplace_back(std::make_shared<Share>(name));
}

void Scheduler::Submit(const StatePtr& queue, std::span<Task> tasks, TimePoint now) {
  if (tasks.size() == 1) {
    if (RunPtr run = BeginAtOnce(queue, &tasks.front(), now)) return Do({.at_once = std::move(run)}, true);
  }
  for (Task& task : tasks) {
    task.number = arrivals_.fetch_add(1, std::memory_order_relaxed);
    if (task.terms.cancelled.stop_possible()) WatchCancellation(queue, &task);
  }
  const StatePtr kept = queue;  // The queue may be destroyed as soon as it is released.
  std::optional<Error> refused;
  std::optional<Dropped> displaced;
  size_t waiting = 0;
  bool needs_turn = false;
  queue->in_use += static_cast<int64_t>(tasks.size()) + 1;  // One for this function, until it needs no lock any more.
  {
    const std::lock_guard lock(queue->share->mutex);
    waiting = queue->lane.size() + OthersOf(*queue);
    refused = Refuse(queue, tasks, now, &displaced);
    if (!refused) needs_turn = Enqueue(*queue, tasks, now);
  }
  Work work;
  if (needs_turn || displaced) {
    const std::lock_guard lock(turns_mutex_);
    if (displaced) turns_.Update(displaced->queue);
    turns_.Update(queue);
    // Other threads may have pushed to the queue, too, before it was in the list of the turns.
    WakeTimerAt(ExpiryAt(NextDeadlineOf(*queue)));
    StartReady(now, &work);
  }
  if (displaced) Answer(displaced->queue, &displaced->task, tl::make_unexpected(QueueIsFull(waiting)));
  for (size_t i = 0; refused && i < tasks.size(); ++i) Answer(queue, &tasks[i], tl::make_unexpected(*refused));
  Do(std::move(work), true);
  Release(kept);
}

// The callback never outlives the queue, because Answer destroys it before it answers the request.
void Scheduler::WatchCancellation(const StatePtr& queue, Task* task) {
  task->on_cancel = std::make_unique<std::stop_callback<std::function<void()>>>(
      task->terms.cancelled, [this, state = std::weak_ptr(queue), key = task->key, rank = task->rank()] {
        if (const StatePtr waiting = state.lock()) Cancel(waiting, key, rank);
      });
}

void Scheduler::Cancel(const StatePtr& queue, const std::string& key, const Rank& rank) {
  std::optional<Task> task;
  bool is_empty = false;
  {
    const std::lock_guard lock(queue->share->mutex);
    task = queue->lane.Remove(key, rank);
    // The key of the task was cleared if the signature turned out to be unbatchable.
    if (!task && !key.empty()) task = queue->lane.Remove("", rank);
    if (!task) return;
    queued_ -= 1;
    is_empty = queue->lane.size() == 0;
  }
  if (is_empty) {
    const std::lock_guard lock(turns_mutex_);
    turns_.Update(queue);
  }
  Answer(queue, &*task, tl::make_unexpected(WasCancelled()));
}

void Scheduler::SubmitBackground(const StatePtr& queue, Task task) {
  const TimePoint now = task.submitted;
  task.number = arrivals_.fetch_add(1, std::memory_order_relaxed);
  queue->in_use += 1;
  Work work;
  {
    const std::lock_guard lock(turns_mutex_);
    background_deadline_ = std::min(background_deadline_, task.terms.deadline);
    background_.emplace_back(queue, std::move(task));
    WakeTimerAt(ExpiryAt(background_deadline_));
    StartReady(now, &work);
  }
  Do(std::move(work), false);
}

std::optional<Error> Scheduler::Refuse(const StatePtr& queue, std::span<Task> tasks, TimePoint now,
                                       std::optional<Dropped>* displaced) {
  const Task& first = tasks.front();
  if (first.terms.cancelled.stop_requested()) return WasCancelled();
  Lane& lane = queue->lane;
  for (Task& task : tasks) {
    if (queue->unbatchable.contains(task.request.signature) || !lane.TakesKind(task.key)) task.key.clear();
  }
  Usage& usage = queue->share->usage;
  if (auto late = RefuseLate(tasks, lane, {slots_.limit(), now}, &queue->forecast)) {
    usage.Refused();
    return late;
  }
  const size_t others = OthersOf(*queue);
  if (lane.HasRoom(first.key, RowsOf(tasks), tasks.size(), others)) return std::nullopt;
  usage.Refused();
  if (tasks.size() == 1) *displaced = MakeRoom(queue, first, others, now);
  if (!*displaced) return QueueIsFull(lane.size() + others);
  queued_ -= 1;
  return std::nullopt;
}

// The requests of other versions that count towards the limit of this one. With TensorFlow Serving's limit of waiting
// batches, each version has a limit of its own, as there.
size_t Scheduler::OthersOf(const QueueState& queue) {
  return queue.options.queue_batches_max > 0 ? 0 : queue.WaitingBeside();
}

// Displaces a request of a lower priority: one of the same version or, if that has none, one of another version of the
// model.
std::optional<Dropped> Scheduler::MakeRoom(const StatePtr& queue, const Task& task, size_t others, TimePoint now) {
  if (auto own = queue->lane.MakeRoom(task, others)) return Dropped{queue, std::move(*own), now};
  if (others == 0 || !queue->lane.HasRoom(task.key, task.rows, 1, others - 1)) return std::nullopt;
  for (Waiter* waiter : queue->share->queues) {
    if (waiter == queue.get()) continue;
    auto other = waiter->lane.RemoveLowest(task.terms.priority);
    // A queue in which requests wait exists until they are answered.
    if (other) return Dropped{static_cast<QueueState*>(waiter)->shared_from_this(), std::move(*other), now};
  }
  return std::nullopt;
}

bool Scheduler::Enqueue(QueueState& queue, std::span<Task> tasks, TimePoint now) {
  const bool was_empty = queue.lane.size() == 0;
  const TimePoint deadline = tasks.front().terms.deadline;
  queue.next_deadline = was_empty ? deadline : std::min(queue.next_deadline, deadline);
  for (Task& task : tasks) queue.lane.Push(std::move(task));
  queued_ += static_cast<int64_t>(tasks.size());
  if (was_empty || ExpiryAt(deadline) < timer_at_.load()) return true;
  const TimePoint ready_at = *queue.lane.ReadyAt();
  return !slots_.WillBePassedOn() && (ready_at <= now || ready_at < timer_at_.load());
}

void Scheduler::StartReady(TimePoint now, Work* work) {
  while (!slots_.WillBePassedOn()) {
    const auto queue = turns_.Next(now);
    if (!queue) {
      slots_.SetNoneWaits();
      StartBackground(now, work);
      return WakeTimerAt(turns_.ReadyAt());
    }
    if (slots_.TakeOrWait()) StartBatch(std::static_pointer_cast<QueueState>(queue), now, work);
  }
}

// Starts a batch with a slot that has been taken for it. Frees the slot if there is none: the requests of the batch may
// be late, or may have been cancelled since Turns chose the queue.
void Scheduler::StartBatch(const StatePtr& queue, TimePoint now, Work* work) {
  RunPtr run;
  {
    const std::lock_guard lock(queue->share->mutex);
    const auto ready_at = queue->lane.ReadyAt();
    Taken taken;
    if (ready_at && *ready_at <= now) taken = queue->lane.Take(now, queue->forecast);
    queued_ -= static_cast<int64_t>(taken.batch.size() + taken.late.size());
    for (Task& task : taken.late) {
      work->dropped.push_back({queue, std::move(task), now});
      if (!work->dropped.back().cancelled()) queue->share->usage.Refused();
    }
    if (!taken.batch.empty()) run = Begin(queue, std::move(taken.batch), taken.ready, now);
  }
  turns_.MoveToEnd(queue);
  if (!run) return slots_.Free(false);
  work->runs.push_back(std::move(run));
}

void Scheduler::StartBackground(TimePoint now, Work* work) {
  while (!background_.empty() && slots_.TakeOrWait(true)) {
    auto [queue, task] = std::move(background_.front());
    background_.pop_front();
    Batch batch;
    batch.push_back(std::move(task));
    const std::lock_guard lock(queue->share->mutex);
    work->runs.push_back(Begin(queue, std::move(batch), now, now));
  }
}

RunPtr Scheduler::Begin(const StatePtr& queue, Batch batch, TimePoint ready, TimePoint now) {
  auto run = std::make_shared<Run>(
      Run{.queue = queue, .batch = std::move(batch), .started = now, .filled = ready, .least = simulated_run_.load()});
  for (const Task& task : run->batch) {
    run->filled = std::max(run->filled, task.submitted);
    run->bytes += task.bytes;
  }
  run->rows_padded = RowsOf(run->batch);
  const Task& first = run->batch.front();
  run->background = first.terms.background;
  if (!first.key.empty() || (first.is_probe && first.rows > 0)) {
    run->bytes = PaddedBytes(run->rows_padded, run->bytes, queue->options.allowed_batch_sizes);
    run->rows_padded = PaddedRows(run->rows_padded, queue->options.allowed_batch_sizes);
  }
  Charge(*run, now);
  return run;
}

void Scheduler::Charge(Run& run, TimePoint now) {
  QueueState& queue = *run.queue;
  run.charged = queue.forecast.AtLeastEver(run.batch.front().request.signature, run.bytes);
  turns_.Begin(queue, run.charged);
  queue.in_use += 1;
  if (!run.background) queue.share->usage.Began(run.batch, now);
}

void Scheduler::Drain(const StatePtr& queue) {
  Work work;
  {
    const std::lock_guard lock(turns_mutex_);
    const TimePoint now = steady_clock::now();
    {
      const std::lock_guard share_lock(queue->share->mutex);
      queue->lane.StopDelaying();
    }
    DropBackground(queue, now, &work);
    StartReady(now, &work);
  }
  Do(std::move(work), false);
  for (int64_t left = queue->in_use; left != 0; left = queue->in_use) queue->in_use.wait(left);
}

TimePoint Scheduler::ExpiryAt(TimePoint deadline) const {
  const Duration grain = kExpiryGrain * (1 + queued() / 100);
  return deadline < TimePoint::max() - grain ? deadline + grain : TimePoint::max();
}

TimePoint Scheduler::NextDeadline() const {
  TimePoint next = background_deadline_;
  for (const auto& waiter : turns_.waiting()) {
    const std::lock_guard lock(waiter->share->mutex);
    next = std::min(next, waiter->next_deadline);
  }
  return next;
}

void Scheduler::DropExpired(TimePoint now, Work* work) {
  if (now < ExpiryAt(NextDeadline())) return;
  const auto waiting = turns_.waiting();  // A copy, because Update changes the list.
  for (const auto& waiter : waiting) {
    const auto queue = std::static_pointer_cast<QueueState>(waiter);
    {
      const std::lock_guard lock(queue->share->mutex);
      if (queue->next_deadline > now) continue;
      for (Task& task : queue->lane.TakeExpired(now)) {
        queued_ -= 1;
        work->dropped.push_back({queue, std::move(task), now});
        if (!work->dropped.back().cancelled()) queue->share->usage.Refused();
      }
      queue->next_deadline = queue->lane.earliest_deadline();
    }
    turns_.Update(queue);
  }
  DropBackground(nullptr, now, work);
}

// Drops the background requests whose deadlines have passed, and all those of `drained`.
void Scheduler::DropBackground(const StatePtr& drained, TimePoint now, Work* work) {
  background_deadline_ = TimePoint::max();
  for (auto& [queue, task] : std::exchange(background_, {})) {
    if (queue == drained || task.terms.deadline <= now) {
      work->dropped.push_back({queue, std::move(task), now});
    } else {
      background_deadline_ = std::min(background_deadline_, task.terms.deadline);
      background_.emplace_back(queue, std::move(task));
    }
  }
}

TimePoint Scheduler::NextDeadlineOf(const QueueState& queue) {
  const std::lock_guard lock(queue.share->mutex);
  return queue.next_deadline;
}

void Scheduler::WakeTimerAt(TimePoint at) {
  if (at >= timer_at_.load()) return;
  timer_at_ = at;
  timer_wake_.notify_one();
}

void Scheduler::RunTimer() {
  std::unique_lock lock(turns_mutex_);
  while (!stopping_) {
    const TimePoint now = steady_clock::now();
    std::vector<std::function<void()>> due;
    while (!timers_.empty() && timers_.begin()->first <= now) {
      due.push_back(std::move(timers_.begin()->second));
      timers_.erase(timers_.begin());
    }
    Work work;
    timer_at_ = timers_.empty() ? TimePoint::max() : timers_.begin()->first;
    DropExpired(now, &work);
    WakeTimerAt(ExpiryAt(NextDeadline()));
    StartReady(now, &work);
    if (!due.empty() || !work.empty()) {
      lock.unlock();
      for (auto& end : due) end();
      due.clear();
      Do(std::move(work), false);
      lock.lock();
    } else if (timer_at_.load() == TimePoint::max()) {
      timer_wake_.wait(lock);
    } else {
      timer_wake_.wait_until(lock, timer_at_.load());
    }
  }
}

}  // namespace longshore::batching
