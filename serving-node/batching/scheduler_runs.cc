// Runs batches: from taking a slot to answering the requests.
#include <algorithm>
#include <memory>
#include <new>

#include "serving-node/batching/refusals.h"
#include "serving-node/batching/rows.h"
#include "serving-node/batching/scheduler.h"
#include "serving-node/batching/traced_run.h"

namespace longshore::batching {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// Like Join, but turns std::bad_alloc into an error, which the requests of the batch get.
Result<engine::RunRequest> JoinOrError(Batch& batch, int64_t rows_padded) {
  try {
    return Join(batch, rows_padded);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("memory does not suffice for a batch of {} rows", rows_padded);
  }
}

microseconds Between(TimePoint from, TimePoint to) { return std::chrono::duration_cast<microseconds>(to - from); }

// An engine may call back from within Run. Without this flag, calls of Pump would nest once per waiting request and
// overflow the stack.
thread_local bool pumping = false;

}  // namespace

Scheduler::RunPtr Scheduler::BeginAtOnce(const StatePtr& queue, Task* task) {
  if (pumping || !task->key.empty() || task->terms.cancelled.stop_requested()) return nullptr;
  const TimePoint now = task->submitted;
  const std::lock_guard lock(mutex_);
  if (load_.running >= limits_.concurrent_runs_max || !turns_.waiting().empty()) return nullptr;
  if (!queue->lane.HasRoom(task->key, task->rows, 1)) return nullptr;
  const bool has_deadline = task->terms.deadline != TimePoint::max();
  if (has_deadline && task->terms.deadline - now < queue->forecast.AtLeast(task->request.signature, task->bytes, now))
    return nullptr;
  queue->in_use += 1;
  Batch batch;
  batch.push_back(std::move(*task));
  return Begin(queue, std::move(batch), now, now);
}

void Scheduler::Pump(bool on_this_thread, const RunPtr& first) {
  if (pumping) return;
  pumping = true;
  const std::unique_ptr<bool, void (*)(bool*)> done(&pumping, [](bool* flag) { *flag = false; });
  if (first) {
    Start(first, on_this_thread);
    Release(first->queue);
  }
  // Only the first run may be computed on this thread; otherwise a frontend's thread could stay here for as long as
  // other threads submit requests.
  for (on_this_thread = on_this_thread && !first; has_work_; on_this_thread = false) PumpSome(on_this_thread);
}

// Answers all dropped requests and starts one run.
void Scheduler::PumpSome(bool on_this_thread) {
  RunPtr run;
  std::vector<Dropped> dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped.swap(dropped_);
    load_.refused += std::ranges::count_if(
        dropped, [](const Dropped& one) { return !one.cancelled() && !one.task.terms.background; });
    if (!startable_.empty()) {
      run = std::move(startable_.front());
      startable_.pop_front();
    }
    has_work_ = !startable_.empty();
  }
  for (Dropped& one : dropped) {
    Answer(one.queue, &one.task,
           tl::make_unexpected(one.cancelled() ? WasCancelled() : HasWaitedTooLong(one.task, one.at)));
  }
  if (!run) return;
  Start(run, on_this_thread);
  Release(run->queue);
}

// If there is too little memory to record a run, the run continues. The watch then notices that its WatchedRun is
// destroyed without Ended.
void Scheduler::BeginWatch(Run& run, engine::RunRequest* request) try {
  if (!run.queue->watch) return;
  auto watched = run.queue->watch->Begin();
  if (!watched) return;
  watched->signature = request->signature;
  for (const auto& [name, input] : request->inputs) {
    watched->inputs += fmt::format("{}{} {}", watched->inputs.empty() ? "" : ", ", name, engine::TypeText(input));
  }
  watched->requests = static_cast<int64_t>(run.batch.size());
  watched->rows = RowsOf(run.batch);
  watched->rows_padded = run.rows_padded;
  watched->began = run.started;
  request->profile = {watched, &watched->profile};
  run.watched = std::move(watched);
} catch (const std::bad_alloc&) {  // `watched` was the only reference to the WatchedRun.
}

void Scheduler::EndWatch(Run& run, const Result<engine::RunResult>& result) try {
  const auto watched = std::exchange(run.watched, nullptr);
  if (!watched) return;
  watched->ended = steady_clock::now();
  if (!result) watched->error = CodeName(result.error().code);
  run.queue->watch->Ended(watched);
} catch (const std::bad_alloc&) {  // The answer of the run does not depend on the recording.
}

void Scheduler::Start(const RunPtr& run, bool on_this_thread) {
  auto joined = JoinOrError(run->batch, run->rows_padded);
  run->started = steady_clock::now();
  if (!joined) return Ended(run, tl::make_unexpected(joined.error()));
  BeginWatch(*run, &*joined);
  if (on_this_thread && !run->background) joined->thread = engine::Thread::kCallersIfShort;
  run->queue->model->Run(std::move(*joined), [self = shared_from_this(), run](Result<engine::RunResult> result) {
    EndWatch(*run, result);
    self->Ended(run, std::move(result));
  });
}

void Scheduler::FreeSlot(const Run& run, TimePoint now) {
  load_.running -= 1;
  if (run.background) {
    background_running_ -= 1;
  } else {
    busy_ += now - born_;
  }
  StartReady(now);
  if (NextWake() < timer_at_) timer_wake_.notify_one();
}

// Runs each half of a failed batch again (or each request, with `each_alone`). One bad request among n thus costs the
// others about log2(n) further runs, and each of them still gets its own answer.
void Scheduler::Retry(const RunPtr& run, bool each_alone) {
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

void Scheduler::Ended(const RunPtr& run, Result<engine::RunResult> result) {
  const TimePoint now = steady_clock::now();
  const TimePoint end = run->started + run->least;
  if (now >= end) return Finish(run, std::move(result), now);
  const std::lock_guard lock(mutex_);
  timers_.emplace(end, [this, run, result = std::move(result)]() mutable {
    const TimePoint ended = steady_clock::now();
    if (result) result->took = ended - run->started;
    Finish(run, std::move(result), ended);
  });
  if (end < timer_at_) timer_wake_.notify_one();
}

void Scheduler::Finish(const RunPtr& run, Result<engine::RunResult> result, TimePoint now) {
  const Duration held = now - run->started;
  std::optional<std::vector<engine::TensorMap>> parts;
  if (result) parts = Split(std::move(result->outputs), run->batch, run->rows_padded);
  const bool uneven = result && !parts;
  const bool poisoned = !result && run->batch.size() > 1 && MayBeCausedByOneRequest(result.error());
  {
    const std::lock_guard lock(mutex_);
    const std::string& signature = run->batch.front().request.signature;
    if (result) run->queue->forecast.Record(signature, run->bytes, held, now);
    if (uneven) run->queue->unbatchable.insert(signature);
    if (uneven || poisoned) Retry(run, uneven);
    Turns::End(*run->queue->share, run->charged, held);
    FreeSlot(*run, now);
  }
  Pump(false);
  const auto rows = static_cast<int>(RowsOf(run->batch));
  const auto traced = TracedOf(run->batch);
  for (size_t i = 0; i < run->batch.size(); ++i) {
    Task& task = run->batch[i];
    if (!result) {
      Answer(run->queue, &task, tl::make_unexpected(result.error()));
    } else {
      Answer(run->queue, &task,
             RunOutcome{.outputs = std::move((*parts)[i]),
                        .started = run->started,
                        .queue_time = Between(task.submitted, run->started),
                        .fill_time = Between(task.submitted, std::max(task.submitted, run->filled)),
                        .run_time = result->took,
                        .planned = result->planned,
                        .batch_rows = task.key.empty() ? 0 : rows,
                        .padded_rows = task.key.empty() ? 0 : static_cast<int>(run->rows_padded),
                        .first_of_batch = i == 0,
                        .traced = traced});
    }
  }
}

void Scheduler::Answer(const StatePtr& queue, Task* task, Result<RunOutcome> outcome) {
  task->on_cancel.reset();
  task->done(std::move(outcome));
  task->done = nullptr;  // Destroys the captures of the callback before Drain can return.
  Release(queue);
}

void Scheduler::Release(const StatePtr& queue) {
  if (queue->in_use.fetch_sub(1) == 1) queue->in_use.notify_all();
}

}  // namespace longshore::batching
