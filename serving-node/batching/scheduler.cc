#include "serving-node/batching/scheduler.h"

#include <algorithm>

#include "serving-node/batching/rows.h"

namespace longshore::batching {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// Expired requests are looked for at most this often, so that many deadlines cost few scans.
constexpr auto kExpiryGrain = std::chrono::milliseconds(1);

microseconds Between(TimePoint from, TimePoint to) { return std::chrono::duration_cast<microseconds>(to - from); }
tl::unexpected<Error> Expired(const Task& task, TimePoint now) {
  return DeadlineExceeded("The deadline passed after {} ms in the queue, before the run began",
                          Between(task.submitted, now).count() / 1000);
}
double Seconds(steady_clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

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
    CHECK(turns_.empty() && load_.running == 0);
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
  Pump();
}

Load Scheduler::load() const {
  const std::lock_guard lock(mutex_);
  Load load = load_;
  load.queued = queued_;
  load.concurrent_runs_max = limits_.concurrent_runs_max;
  load.busy_seconds = Seconds(busy_ + load_.running * (steady_clock::now() - born_));
  return load;
}

void Scheduler::Submit(const StatePtr& queue, Task task) {
  bool full = false;
  size_t waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    full = !queue->lane.HasRoom(task);
    waiting = queue->lane.size();
    ++queue->in_use;
    if (full) {
      ++load_.refused;
    } else {
      if (queue->unbatchable.count(task.request.signature) > 0) task.key.clear();
      next_deadline_ = std::min(next_deadline_, task.deadline);
      queue->lane.Push(std::move(task));
      ++queued_;
      GiveTurn(queue);
      StartReady(steady_clock::now());
      if (NextWake() < timer_at_) timer_wake_.notify_one();
    }
  }
  if (full) {
    Answer(queue, &task,
           Unavailable("The batch scheduling queue to which this task was submitted is full; "
                       "{} requests wait already",
                       waiting));
  }
  Pump();
}

void Scheduler::GiveTurn(const StatePtr& queue) {
  if (queue->in_turn || queue->lane.size() == 0) return;
  queue->in_turn = true;
  turns_.push_back(queue);
}

void Scheduler::StartReady(TimePoint now) {
  auto it = turns_.begin();
  while (it != turns_.end() && load_.running < limits_.concurrent_runs_max) {
    const StatePtr queue = *it;
    if (queue->lane.size() > 0 && *queue->lane.ReadyAt() > now) {
      ++it;
      continue;
    }
    turns_.erase(it);
    queue->in_turn = false;
    if (queue->lane.size() > 0) {
      const TimePoint ready_at = *queue->lane.ReadyAt();
      auto run = std::make_shared<Run>(Run{queue, queue->lane.Take(now), now});
      run->filled = std::max(ready_at, run->batch.back().submitted);
      queued_ -= static_cast<int64_t>(run->batch.size());
      load_.running += 1;
      queue->in_use += 1;
      busy_ -= now - born_;
      startable_.push_back(std::move(run));
    }
    GiveTurn(queue);
    it = turns_.begin();  // A queue that was not ready is still not ready, but it may not lose its turn.
  }
}

void Scheduler::Pump() {
  // An engine may call back from within Run; without this the stack would grow with every request that waits.
  static thread_local bool pumping = false;
  if (pumping) return;
  pumping = true;
  // One run may keep this thread; if more did, a frontend's thread could be kept for as long as others submit.
  for (bool here = true;; here = false) {
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
  if (!AnswerExpired(run)) return;
  {
    const std::lock_guard lock(mutex_);
    load_.started += static_cast<int64_t>(run->batch.size());
    for (const Task& task : run->batch) load_.queue_seconds += Seconds(run->started - task.submitted);
  }
  int64_t rows = 0;
  for (const Task& task : run->batch) rows += task.rows;
  const bool alone = run->batch.front().key.empty();
  run->rows_padded = alone ? rows : PaddedRows(rows, run->queue->options.allowed_batch_sizes);
  auto joined = Join(run->batch, run->rows_padded);
  run->started = steady_clock::now();
  if (!joined) return Ended(run, tl::make_unexpected(joined.error()));
  if (here) joined->thread = engine::Thread::kCallersIfShort;
  run->queue->model->Run(std::move(*joined), [self = shared_from_this(), run](Result<engine::TensorMap> outputs) {
    self->Ended(run, std::move(outputs));
  });
}

bool Scheduler::AnswerExpired(const RunPtr& run) {
  Batch alive;
  for (Task& task : run->batch) {
    if (task.deadline > run->started) {
      alive.push_back(std::move(task));
    } else {
      Answer(run->queue, &task, Expired(task, run->started));
    }
  }
  run->batch = std::move(alive);
  if (!run->batch.empty()) return true;
  const std::lock_guard lock(mutex_);
  FreeSlot(run->started);
  return false;
}

void Scheduler::FreeSlot(TimePoint now) {
  load_.running -= 1;
  busy_ += now - born_;
  StartReady(now);
  if (NextWake() < timer_at_) timer_wake_.notify_one();
}

void Scheduler::RunEachAlone(const RunPtr& run) {
  queued_ += static_cast<int64_t>(run->batch.size());
  for (auto task = run->batch.rbegin(); task != run->batch.rend(); ++task) {
    task->key.clear();
    next_deadline_ = std::min(next_deadline_, task->deadline);
    run->queue->lane.PushFirst(std::move(*task));
  }
  run->batch.clear();
  GiveTurn(run->queue);
}

void Scheduler::Ended(const RunPtr& run, Result<engine::TensorMap> outputs) {
  const TimePoint now = steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    const TimePoint end = run->started + limits_.simulated_run;
    if (now < end) {
      timers_.emplace(end, [this, run, outputs = std::move(outputs)]() mutable {
        Finish(run, std::move(outputs), Between(run->started, steady_clock::now()));
      });
      if (end < timer_at_) timer_wake_.notify_one();
      return;
    }
  }
  Finish(run, std::move(outputs), Between(run->started, now));
}

void Scheduler::Finish(const RunPtr& run, Result<engine::TensorMap> outputs, microseconds run_time) {
  std::optional<std::vector<engine::TensorMap>> parts;
  if (outputs) parts = Split(*outputs, run->batch, run->rows_padded);
  const bool uneven = outputs && !parts;
  // One request may have failed them all; and where each fails by itself, each is an observation of its own.
  const bool poisoned = !outputs && run->batch.size() > 1;
  {
    const std::lock_guard lock(mutex_);
    if (uneven) run->queue->unbatchable.insert(run->batch.front().request.signature);
    if (uneven || poisoned) RunEachAlone(run);
    FreeSlot(steady_clock::now());
  }
  Pump();
  int64_t rows = 0;
  for (const Task& task : run->batch) rows += task.rows;
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
                        .batch_rows = task.key.empty() ? 0 : static_cast<int>(rows),
                        .padded_rows = task.key.empty() ? 0 : static_cast<int>(run->rows_padded),
                        .first_of_batch = i == 0});
    }
  }
}

void Scheduler::Answer(const StatePtr& queue, Task* task, Result<RunOutcome> outcome) {
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
  Pump();
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [&] { return queue->in_use == 0; });
  // The lane may have emptied by expiry alone, which leaves the turn to be taken away.
  turns_.remove(queue);
}

std::vector<std::pair<Scheduler::StatePtr, Task>> Scheduler::TakeExpired(TimePoint now) {
  std::vector<std::pair<StatePtr, Task>> expired;
  if (now < next_deadline_) return expired;
  next_deadline_ = TimePoint::max();
  for (const StatePtr& queue : turns_) {
    for (Task& task : queue->lane.TakeExpired(now)) expired.emplace_back(queue, std::move(task));
    next_deadline_ = std::min(next_deadline_, queue->lane.earliest_deadline());
  }
  queued_ -= static_cast<int64_t>(expired.size());
  return expired;
}

TimePoint Scheduler::NextWake() const {
  TimePoint wake = timers_.empty() ? TimePoint::max() : timers_.begin()->first;
  if (next_deadline_ < TimePoint::max() - kExpiryGrain) wake = std::min(wake, next_deadline_ + kExpiryGrain);
  if (load_.running >= limits_.concurrent_runs_max) return wake;
  for (const StatePtr& queue : turns_) wake = std::min(wake, queue->lane.ReadyAt().value_or(TimePoint::max()));
  return wake;
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
    for (auto& [queue, task] : expired) Answer(queue, &task, Expired(task, now));
    const bool worked = !due.empty() || !expired.empty();
    due.clear();
    expired.clear();
    Pump();
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
