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
// requests: scanning all of them holds the mutex and must not delay other requests.
constexpr auto kExpiryGrain = std::chrono::milliseconds(1);

}  // namespace

Limits Scheduler::Normalized(Limits limits) {
  if (limits.concurrent_runs_max <= 0) limits.concurrent_runs_max = Processors();
  limits.concurrent_runs_max = std::clamp(limits.concurrent_runs_max, 1, kConcurrentRunsMax);
  return limits;
}

Scheduler::Scheduler(Limits limits) : limits_(Normalized(limits)), timer_([this] { RunTimer(); }) {}

void Scheduler::Stop() {
  {
    const std::lock_guard lock(mutex_);
    CHECK(turns_.waiting().empty() && load_.running == 0);
    stopping_ = true;
  }
  timer_wake_.notify_all();
  timer_.join();
}

void Scheduler::SetLimits(Limits limits) {
  {
    const std::lock_guard lock(mutex_);
    limits_ = Normalized(limits);
    StartReady(steady_clock::now());
  }
  Pump(false);
}

Load Scheduler::load() const {
  const std::lock_guard lock(mutex_);
  Load load = load_;
  load.running -= background_running_;
  load.queued = queued_;
  load.concurrent_runs_max = limits_.concurrent_runs_max;
  load.busy_seconds = SecondsOf(busy_ + load.running * (steady_clock::now() - born_));
  return load;
}

std::shared_ptr<Share> Scheduler::GetShare(const std::string& name) {
  if (name.empty()) return std::make_shared<Share>();
  const std::lock_guard lock(mutex_);
  std::erase_if(shares_, [](const auto& named) { return named.second.expired(); });
  auto share = shares_[name].lock();
  if (!share) shares_[name] = share = std::make_shared<Share>();
  return share;
}

void Scheduler::Submit(const StatePtr& queue, std::span<Task> tasks) {
  if (tasks.size() == 1) {
    if (const RunPtr run = BeginAtOnce(queue, &tasks.front())) return Pump(true, run);
  }
  for (Task& task : tasks) {
    task.number = arrivals_.fetch_add(1, std::memory_order_relaxed);
    if (task.terms.cancelled.stop_possible()) WatchCancellation(queue, &task);
  }
  std::optional<Error> refused;
  std::optional<Dropped> displaced;
  size_t waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    const TimePoint now = steady_clock::now();
    queue->in_use += static_cast<int64_t>(tasks.size());
    waiting = queue->lane.size() + OthersOf(*queue);
    refused = Refuse(queue, tasks, now, &displaced);
    for (size_t i = 0; !refused && i < tasks.size(); ++i) Enqueue(queue, std::move(tasks[i]));
    StartReady(now);
    if (NextWake() < timer_at_) timer_wake_.notify_one();
  }
  if (displaced) Answer(displaced->queue, &displaced->task, tl::make_unexpected(QueueIsFull(waiting)));
  for (size_t i = 0; refused && i < tasks.size(); ++i) Answer(queue, &tasks[i], tl::make_unexpected(*refused));
  Pump(true);
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
  {
    const std::lock_guard lock(mutex_);
    task = queue->lane.Remove(key, rank);
    // The key of the task was cleared if the signature turned out to be unbatchable.
    if (!task && !key.empty()) task = queue->lane.Remove("", rank);
    if (!task) return;
    queued_ -= 1;
    if (queue->lane.size() == 0) turns_.Remove(queue);
  }
  Answer(queue, &*task, tl::make_unexpected(WasCancelled()));
}

void Scheduler::SubmitBackground(const StatePtr& queue, Task task) {
  task.number = arrivals_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    queue->in_use += 1;
    next_deadline_ = std::min(next_deadline_, task.terms.deadline);
    background_.emplace_back(queue, std::move(task));
    StartReady(steady_clock::now());
    if (NextWake() < timer_at_) timer_wake_.notify_one();
  }
  Pump(false);
}

std::optional<Error> Scheduler::Refuse(const StatePtr& queue, std::span<Task> tasks, TimePoint now,
                                       std::optional<Dropped>* displaced) {
  const Task& first = tasks.front();
  if (first.terms.cancelled.stop_requested()) return WasCancelled();
  Lane& lane = queue->lane;
  for (Task& task : tasks) {
    if (queue->unbatchable.contains(task.request.signature) || !lane.TakesKind(task.key)) task.key.clear();
  }
  if (auto late = RefuseLate(tasks, lane, {limits_.concurrent_runs_max, now}, &queue->forecast)) {
    load_.refused += 1;
    return late;
  }
  const size_t others = OthersOf(*queue);
  if (lane.HasRoom(first.key, RowsOf(tasks), tasks.size(), others)) return std::nullopt;
  load_.refused += 1;
  if (tasks.size() == 1) *displaced = MakeRoom(queue, first, others, now);
  if (!*displaced) return QueueIsFull(lane.size() + others);
  queued_ -= 1;
  return std::nullopt;
}

// The requests of other versions that count towards the limit of this one. With TensorFlow Serving's limit of waiting
// batches, each version has a limit of its own, as there.
size_t Scheduler::OthersOf(const QueueState& queue) const {
  return queue.options.queue_batches_max > 0 ? 0 : turns_.WaitingBeside(queue);
}

// Displaces a request of a lower priority: one of the same version or, if that has none, one of another version of the
// model.
std::optional<Scheduler::Dropped> Scheduler::MakeRoom(const StatePtr& queue, const Task& task, size_t others,
                                                      TimePoint now) {
  if (auto own = queue->lane.MakeRoom(task, others)) return Dropped{queue, std::move(*own), now};
  if (others == 0 || !queue->lane.HasRoom(task.key, task.rows, 1, others - 1)) return std::nullopt;
  for (const auto& waiter : turns_.waiting()) {
    if (waiter->share != queue->share) continue;
    auto other = waiter->lane.RemoveLowest(task.terms.priority);
    if (!other) continue;
    const auto its_queue = std::static_pointer_cast<QueueState>(waiter);
    if (its_queue->lane.size() == 0) turns_.Remove(its_queue);
    return Dropped{its_queue, std::move(*other), now};
  }
  return std::nullopt;
}

void Scheduler::Enqueue(const StatePtr& queue, Task task) {
  next_deadline_ = std::min(next_deadline_, task.terms.deadline);
  queue->lane.Push(std::move(task));
  ++queued_;
  turns_.Add(queue);
}

void Scheduler::StartReady(TimePoint now) {
  while (load_.running < limits_.concurrent_runs_max) {
    const auto queue = std::static_pointer_cast<QueueState>(turns_.Next(now));
    if (!queue) return StartBackground(now);
    Taken taken = queue->lane.Take(now, queue->forecast);
    turns_.Remove(queue);  // Moves the queue to the end; Add ignores a queue without requests.
    turns_.Add(queue);
    queued_ -= static_cast<int64_t>(taken.batch.size() + taken.late.size());
    for (Task& task : taken.late) Drop(queue, std::move(task), now);
    if (!taken.batch.empty()) AddStartable(Begin(queue, std::move(taken.batch), taken.ready, now));
  }
}

// One slot stays free, so that the next request need not wait for a background run.
void Scheduler::StartBackground(TimePoint now) {
  while (!background_.empty() && load_.running < std::max(1, limits_.concurrent_runs_max - 1)) {
    auto [queue, task] = std::move(background_.front());
    background_.pop_front();
    Batch batch;
    batch.push_back(std::move(task));
    AddStartable(Begin(queue, std::move(batch), now, now));
  }
}

void Scheduler::AddStartable(RunPtr run) {
  startable_.push_back(std::move(run));
  has_work_ = true;
}

void Scheduler::Drop(const StatePtr& queue, Task task, TimePoint now) {
  dropped_.push_back({queue, std::move(task), now});
  has_work_ = true;
}

Scheduler::RunPtr Scheduler::Begin(const StatePtr& queue, Batch batch, TimePoint ready, TimePoint now) {
  auto run = std::make_shared<Run>(
      Run{.queue = queue, .batch = std::move(batch), .started = now, .filled = ready, .least = limits_.simulated_run});
  for (const Task& task : run->batch) {
    run->filled = std::max(run->filled, task.submitted);
    run->bytes += task.bytes;
  }
  run->rows_padded = RowsOf(run->batch);
  const Task& first = run->batch.front();
  if (!first.key.empty() || (first.is_probe && first.rows > 0)) {
    run->bytes = PaddedBytes(run->rows_padded, run->bytes, queue->options.allowed_batch_sizes);
    run->rows_padded = PaddedRows(run->rows_padded, queue->options.allowed_batch_sizes);
  }
  run->charged = queue->forecast.AtLeastEver(first.request.signature, run->bytes);
  turns_.Begin(*queue, run->charged);
  load_.running += 1;
  queue->in_use += 1;
  run->background = first.terms.background;
  if (run->background) {
    background_running_ += 1;
  } else {
    busy_ -= now - born_;
    load_.started += static_cast<int64_t>(run->batch.size());
    for (const Task& task : run->batch) load_.queue_seconds += SecondsOf(now - task.submitted);
  }
  return run;
}

void Scheduler::Drain(const StatePtr& queue) {
  {
    const std::lock_guard lock(mutex_);
    queue->lane.StopDelaying();
    DropBackground(queue, steady_clock::now());
    StartReady(steady_clock::now());
  }
  Pump(false);
  for (int64_t left = queue->in_use; left != 0; left = queue->in_use) queue->in_use.wait(left);
}

TimePoint Scheduler::ExpiryAt() const {
  const Duration grain = kExpiryGrain * (1 + queued_.load(std::memory_order_relaxed) / 100);
  return next_deadline_ < TimePoint::max() - grain ? next_deadline_ + grain : TimePoint::max();
}

void Scheduler::DropExpired(TimePoint now) {
  if (now < ExpiryAt()) return;
  next_deadline_ = TimePoint::max();
  const auto waiting = turns_.waiting();  // A copy, because Remove changes the list.
  for (const auto& waiter : waiting) {
    const auto queue = std::static_pointer_cast<QueueState>(waiter);
    for (Task& task : queue->lane.TakeExpired(now)) {
      Drop(queue, std::move(task), now);
      queued_ -= 1;
    }
    next_deadline_ = std::min(next_deadline_, queue->lane.earliest_deadline());
    if (queue->lane.size() == 0) turns_.Remove(queue);
  }
  DropBackground(nullptr, now);
}

// Drops the background requests whose deadlines have passed, and all those of `drained`.
void Scheduler::DropBackground(const StatePtr& drained, TimePoint now) {
  for (auto& [queue, task] : std::exchange(background_, {})) {
    if (queue == drained || task.terms.deadline <= now) {
      Drop(queue, std::move(task), now);
    } else {
      next_deadline_ = std::min(next_deadline_, task.terms.deadline);
      background_.emplace_back(queue, std::move(task));
    }
  }
}

TimePoint Scheduler::NextWake() const {
  TimePoint wake = timers_.empty() ? TimePoint::max() : timers_.begin()->first;
  wake = std::min(wake, ExpiryAt());
  if (load_.running >= limits_.concurrent_runs_max) return wake;
  return std::min(wake, turns_.ReadyAt().value_or(TimePoint::max()));
}

void Scheduler::RunTimer() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const TimePoint now = steady_clock::now();
    std::vector<std::function<void()>> due;
    while (!timers_.empty() && timers_.begin()->first <= now) {
      due.push_back(std::move(timers_.begin()->second));
      timers_.erase(timers_.begin());
    }
    DropExpired(now);
    StartReady(now);
    const bool worked = !due.empty() || !dropped_.empty();
    lock.unlock();
    for (auto& end : due) end();
    due.clear();
    Pump(false);
    lock.lock();
    timer_at_ = NextWake();
    if (worked || stopping_ || timer_at_ <= steady_clock::now()) continue;
    if (timer_at_ == TimePoint::max()) {
      timer_wake_.wait(lock);
    } else {
      timer_wake_.wait_until(lock, timer_at_);
    }
  }
}

}  // namespace longshore::batching
