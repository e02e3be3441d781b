#include "serving-node/batching/scheduler.h"

#include <algorithm>

#include "serving-node/batching/refusals.h"
#include "serving-node/batching/rows.h"

namespace longshore::batching {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// Expired requests are looked for at most this often, so that many deadlines cost few scans.
constexpr auto kExpiryGrain = std::chrono::milliseconds(1);

microseconds Between(TimePoint from, TimePoint to) { return std::chrono::duration_cast<microseconds>(to - from); }
int64_t RowsOf(std::span<const Task> tasks) {
  int64_t rows = 0;
  for (const Task& task : tasks) rows += task.rows;
  return rows;
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Duration Queue::State::AtLeast(const std::string& signature, int64_t rows, TimePoint now) const {
  const auto times = run_times.find(signature);
  return times == run_times.end() ? Duration(0) : times->second.AtLeast(rows, now);
}

Limits Scheduler::Normalized(Limits limits) {
  if (limits.concurrent_runs_max <= 0)
    limits.concurrent_runs_max = static_cast<int>(std::thread::hardware_concurrency());
  limits.concurrent_runs_max = std::clamp(limits.concurrent_runs_max, 1, kConcurrentRunsMax);
  return limits;
}

Scheduler::Scheduler(Limits limits) : limits_(Normalized(limits)), timer_([this] { Keep(); }) {}

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
  load.queued = queued_;
  load.concurrent_runs_max = limits_.concurrent_runs_max;
  load.busy_seconds = Seconds(busy_ + load_.running * (steady_clock::now() - born_));
  return load;
}

std::shared_ptr<Share> Scheduler::ShareOf(const std::string& name) {
  if (name.empty()) return std::make_shared<Share>();
  const std::lock_guard lock(mutex_);
  std::erase_if(shares_, [](const auto& named) { return named.second.expired(); });
  auto share = shares_[name].lock();
  if (!share) shares_[name] = share = std::make_shared<Share>();
  return share;
}

void Scheduler::Submit(const StatePtr& queue, std::span<Task> tasks) {
  for (Task& task : tasks) {
    task.number = arrivals_.fetch_add(1, std::memory_order_relaxed);
    if (task.terms.cancelled.stop_possible()) WatchCancellation(queue, &task);
  }
  std::optional<Error> refused;
  std::optional<Task> displaced;
  size_t waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    const TimePoint now = steady_clock::now();
    queue->in_use += static_cast<int64_t>(tasks.size());
    waiting = queue->lane.size();
    refused = Refuse(*queue, tasks, now, &displaced);
    for (size_t i = 0; !refused && i < tasks.size(); ++i) Enqueue(queue, std::move(tasks[i]));
    StartReady(now);
    if (NextWake() < timer_at_) timer_wake_.notify_one();
  }
  if (displaced) Answer(queue, &*displaced, tl::make_unexpected(QueueIsFull(waiting)));
  for (size_t i = 0; refused && i < tasks.size(); ++i) Answer(queue, &tasks[i], tl::make_unexpected(*refused));
  Pump(true);
}

// The callback is gone before its request is answered, and the queue outlives its requests.
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
    // Its signature may have turned out to run alone.
    if (!task && !key.empty()) task = queue->lane.Remove("", rank);
    if (!task) return;
    queued_ -= 1;
    if (queue->lane.size() == 0) turns_.Remove(queue);
  }
  Answer(queue, &*task, tl::make_unexpected(WasCancelled()));
}

std::optional<Error> Scheduler::Refuse(Queue::State& queue, std::span<Task> tasks, TimePoint now,
                                       std::optional<Task>* displaced) {
  const Task& first = tasks.front();
  const std::string& signature = first.request.signature;
  if (first.terms.cancelled.stop_requested()) return WasCancelled();
  for (Task& task : tasks) {
    if (queue.unbatchable.contains(signature)) task.key.clear();
    task.least_run = queue.AtLeast(signature, task.rows, now);
  }
  Duration least = first.least_run;
  // Who overtakes others has less before it, and nobody counts how much.
  if (first.terms.priority == 0 && least > Duration(0)) {
    least += least * queue.lane.BatchesWaiting(first.key) / limits_.concurrent_runs_max;
  }
  if (first.terms.deadline - least < now) return ComesTooLate(first.terms.deadline - now, least);
  if (queue.lane.HasRoom(first.key, RowsOf(tasks), tasks.size())) return std::nullopt;
  load_.refused += 1;
  if (tasks.size() == 1) *displaced = queue.lane.MakeRoom(first);
  if (!*displaced) return QueueIsFull(queue.lane.size());
  queued_ -= 1;
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
    const auto queue = std::static_pointer_cast<Queue::State>(turns_.Next(now));
    if (!queue) return;
    const TimePoint ready_at = *queue->lane.ReadyAt();
    auto run = std::make_shared<Run>(Run{.queue = queue, .batch = queue->lane.Take(now), .started = now});
    run->filled = std::max(ready_at, run->batch.back().submitted);
    run->rows_padded = RowsToRun(*run);
    run->at_least = queue->AtLeast(run->batch.front().request.signature, run->rows_padded, now);
    turns_.Begin(*queue, run->at_least);
    turns_.Remove(queue);  // To the end, where it still has requests.
    turns_.Add(queue);
    queued_ -= static_cast<int64_t>(run->batch.size());
    load_.running += 1;
    queue->in_use += 1;
    busy_ -= now - born_;
    startable_.push_back(std::move(run));
  }
}

int64_t Scheduler::RowsToRun(const Run& run) {
  const int64_t rows = RowsOf(run.batch);
  return run.batch.front().key.empty() ? rows : PaddedRows(rows, run.queue->options.allowed_batch_sizes);
}

void Scheduler::Pump(bool here) {
  // An engine may call back from within Run; without this the stack would grow with every request that waits.
  static thread_local bool pumping = false;
  if (pumping) return;
  pumping = true;
  // One run may keep this thread; if more did, a frontend's thread could be kept for as long as others submit.
  for (;; here = false) {
    RunPtr run;
    {
      const std::lock_guard lock(mutex_);
      if (startable_.empty()) break;
      run = std::move(startable_.front());
      startable_.pop_front();
    }
    Start(run, here);
    Release(run->queue);
  }
  pumping = false;
}

void Scheduler::Start(const RunPtr& run, bool here) {
  run->started = steady_clock::now();
  if (!AnswerHopeless(run)) return;
  {
    const std::lock_guard lock(mutex_);
    load_.started += static_cast<int64_t>(run->batch.size());
    for (const Task& task : run->batch) load_.queue_seconds += Seconds(run->started - task.submitted);
  }
  auto joined = Join(run->batch, run->rows_padded);
  run->started = steady_clock::now();
  if (!joined) return Ended(run, tl::make_unexpected(joined.error()));
  if (here) joined->thread = engine::Thread::kCallersIfShort;
  run->queue->model->Run(std::move(*joined), [self = shared_from_this(), run](Result<engine::TensorMap> outputs) {
    self->Ended(run, std::move(outputs));
  });
}

bool Scheduler::AnswerHopeless(const RunPtr& run) {
  Batch alive;
  for (Task& task : run->batch) {
    if (task.terms.cancelled.stop_requested()) {
      Answer(run->queue, &task, tl::make_unexpected(WasCancelled()));
    } else if (task.terms.deadline <= run->started + run->at_least) {
      Answer(run->queue, &task, tl::make_unexpected(HasWaitedTooLong(task, run->started, run->at_least)));
    } else {
      alive.push_back(std::move(task));
    }
  }
  run->batch = std::move(alive);
  if (!run->batch.empty()) {
    run->rows_padded = RowsToRun(*run);
    return true;
  }
  const std::lock_guard lock(mutex_);
  Turns::End(*run->queue->share, run->at_least, Duration(0));
  FreeSlot(run->started);
  return false;
}

void Scheduler::FreeSlot(TimePoint now) {
  load_.running -= 1;
  busy_ += now - born_;
  StartReady(now);
  if (NextWake() < timer_at_) timer_wake_.notify_one();
}

// Of requests that failed together each half runs again, so that one bad one among n costs its mates about log2(n)
// further runs, and each of them the answer that it would have had.
void Scheduler::RunAgain(const RunPtr& run, bool each_alone) {
  Batch& batch = run->batch;
  queued_ += static_cast<int64_t>(batch.size());
  const size_t step = each_alone ? 1 : (batch.size() + 1) / 2;
  for (size_t begin = 0; begin < batch.size(); begin += step) {
    Batch part;
    for (size_t i = begin; i < std::min(begin + step, batch.size()); ++i) {
      if (each_alone) batch[i].key.clear();
      part.push_back(std::move(batch[i]));
    }
    run->queue->lane.PushBatch(std::move(part));
  }
  batch.clear();
  turns_.Add(run->queue);
}

void Scheduler::Ended(const RunPtr& run, Result<engine::TensorMap> outputs) {
  const TimePoint now = steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    const TimePoint end = run->started + limits_.simulated_run;
    if (now < end) {
      timers_.emplace(end, [this, run, outputs = std::move(outputs)]() mutable {
        Finish(run, std::move(outputs), steady_clock::now() - run->started);
      });
      if (end < timer_at_) timer_wake_.notify_one();
      return;
    }
  }
  Finish(run, std::move(outputs), now - run->started);
}

void Scheduler::Finish(const RunPtr& run, Result<engine::TensorMap> outputs, Duration took) {
  std::optional<std::vector<engine::TensorMap>> parts;
  if (outputs) parts = Split(*outputs, run->batch, run->rows_padded);
  const bool uneven = outputs && !parts;
  // One request may have failed them all; and where each fails by itself, each is an observation of its own.
  const bool poisoned = !outputs && run->batch.size() > 1;
  {
    const std::lock_guard lock(mutex_);
    const TimePoint now = steady_clock::now();
    const std::string& signature = run->batch.front().request.signature;
    if (outputs) run->queue->run_times[signature].Note(run->rows_padded, took, now);
    if (uneven) run->queue->unbatchable.insert(signature);
    if (uneven || poisoned) RunAgain(run, uneven);
    Turns::End(*run->queue->share, run->at_least, took);
    FreeSlot(now);
  }
  Pump(false);
  const auto run_time = std::chrono::duration_cast<microseconds>(took);
  const auto rows = static_cast<int>(RowsOf(run->batch));
  for (size_t i = 0; i < run->batch.size(); ++i) {
    Task& task = run->batch[i];
    if (!outputs) {
      Answer(run->queue, &task, tl::make_unexpected(outputs.error()));
    } else {
      Answer(run->queue, &task,
             RunOutcome{.outputs = std::move((*parts)[i]),
                        .queue_time = Between(task.submitted, run->started),
                        .fill_time = Between(task.submitted, std::max(task.submitted, run->filled)),
                        .run_time = run_time,
                        .batch_rows = task.key.empty() ? 0 : rows,
                        .padded_rows = task.key.empty() ? 0 : static_cast<int>(run->rows_padded),
                        .first_of_batch = i == 0});
    }
  }
}

void Scheduler::Answer(const StatePtr& queue, Task* task, Result<RunOutcome> outcome) {
  task->on_cancel.reset();
  task->done(std::move(outcome));
  task->done = nullptr;  // What it holds must be gone before Drain returns.
  Release(queue);
}

void Scheduler::Release(const StatePtr& queue) {
  const std::lock_guard lock(mutex_);
  if (--queue->in_use == 0) answered_.notify_all();
}

void Scheduler::Drain(const StatePtr& queue) {
  {
    const std::lock_guard lock(mutex_);
    queue->lane.StopDelaying();
    StartReady(steady_clock::now());
  }
  Pump(false);
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [&] { return queue->in_use == 0; });
}

std::vector<std::pair<Scheduler::StatePtr, Task>> Scheduler::TakeExpired(TimePoint now) {
  std::vector<std::pair<StatePtr, Task>> expired;
  if (now < next_deadline_) return expired;
  next_deadline_ = TimePoint::max();
  const auto waiting = turns_.waiting();  // A copy: who has no request left leaves it.
  for (const auto& waiter : waiting) {
    const auto queue = std::static_pointer_cast<Queue::State>(waiter);
    for (Task& task : queue->lane.TakeExpired(now)) expired.emplace_back(queue, std::move(task));
    next_deadline_ = std::min(next_deadline_, queue->lane.earliest_deadline());
    if (queue->lane.size() == 0) turns_.Remove(queue);
  }
  queued_ -= static_cast<int64_t>(expired.size());
  return expired;
}

TimePoint Scheduler::NextWake() const {
  TimePoint wake = timers_.empty() ? TimePoint::max() : timers_.begin()->first;
  if (next_deadline_ < TimePoint::max() - kExpiryGrain) wake = std::min(wake, next_deadline_ + kExpiryGrain);
  if (load_.running >= limits_.concurrent_runs_max) return wake;
  return std::min(wake, turns_.ReadyAt().value_or(TimePoint::max()));
}

void Scheduler::Keep() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const TimePoint now = steady_clock::now();
    std::vector<std::function<void()>> due;
    while (!timers_.empty() && timers_.begin()->first <= now) {
      due.push_back(std::move(timers_.begin()->second));
      timers_.erase(timers_.begin());
    }
    auto expired = TakeExpired(now);
    StartReady(now);
    lock.unlock();
    for (auto& end : due) end();
    for (auto& [queue, task] : expired)
      Answer(queue, &task, tl::make_unexpected(HasWaitedTooLong(task, now, Duration(0))));
    const bool worked = !due.empty() || !expired.empty();
    due.clear();
    expired.clear();
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
