// Runs batches: from taking a slot to answering the requests.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <new>
#include <utility>

#include "common/base/thrown.h"
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

// The work that the outermost call of Do on this thread does before it returns. An engine may call back from within
// Run: without this list, calls of Do would nest once per waiting request and overflow the stack.
struct Pending {
  bool is_within_do = false;
  std::deque<std::pair<Scheduler*, Work>> works;
};
thread_local Pending pending;

}  // namespace

RunPtr Scheduler::BeginAtOnce(const StatePtr& queue, Task* task, TimePoint now) {
  if (!task->key.empty() || task->terms.cancelled.stop_requested() || !slots_.IsOpen()) return nullptr;
  auto run = std::make_shared<Run>(Run{.queue = queue,
                                       .batch = {},
                                       .started = now,
                                       .filled = now,
                                       .rows_padded = task->rows,
                                       .bytes = task->bytes,
                                       .least = simulated_run_.load()});
  run->batch.reserve(1);
  const std::lock_guard lock(queue->share->mutex);
  if (!queue->lane.HasRoom(task->key, task->rows, 1, OthersOf(*queue))) return nullptr;
  const bool has_deadline = task->terms.deadline != TimePoint::max();
  if (has_deadline && task->terms.deadline - now < queue->forecast.AtLeast(task->request.signature, task->bytes, now))
    return nullptr;
  if (!slots_.TakeIfNoneWaits()) return nullptr;
  queue->in_use += 1;
  run->batch.push_back(std::move(*task));
  Charge(*run, now);
  return run;
}

void Scheduler::Do(Work work, bool on_this_thread) {
  if (work.empty()) return;
  if (pending.is_within_do) {
    pending.works.emplace_back(this, std::move(work));
    return;
  }
  pending.is_within_do = true;
  const std::unique_ptr<bool, void (*)(bool*)> done(&pending.is_within_do, [](bool* flag) { *flag = false; });
  Perform(work, on_this_thread);
  while (!pending.works.empty()) {
    auto [scheduler, next] = std::move(pending.works.front());
    pending.works.pop_front();
    scheduler->Perform(next, false);
  }
}

// Only the first run may be computed on this thread; otherwise a frontend's thread could stay here for as long as other
// threads submit requests. The scheduler may no longer exist after the last Release.
void Scheduler::Perform(Work& work, bool on_this_thread) {
  for (Dropped& one : work.dropped) {
    Answer(one.queue, &one.task,
           tl::make_unexpected(one.cancelled() ? WasCancelled() : HasWaitedTooLong(one.task, one.at)));
  }
  const auto start = [&](const RunPtr& run) {
    Start(run, std::exchange(on_this_thread, false));
    Release(run->queue);
  };
  if (work.at_once) start(work.at_once);
  for (const RunPtr& run : work.runs) start(run);
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

// Frees the slot of a run that has ended, and starts the batches that wait for it.
void Scheduler::PassOnSlot(const RunPtr& run, Again again) {
  Work work;
  {
    const std::lock_guard lock(turns_mutex_);
    if (again != Again::kNot) {
      PushAgain(*run, again);
      turns_.Update(run->queue);
    }
    slots_.Free(run->background);
    StartReady(steady_clock::now(), &work);  // A request that has just come may rely on this thread.
  }
  Do(std::move(work), false);
}

// One bad request among n costs the others about log2(n) further runs, and each of them still gets its own answer.
void Scheduler::PushAgain(Run& run, Again again) {
  Batch batch = std::exchange(run.batch, {});
  const std::lock_guard lock(run.queue->share->mutex);
  queued_ += static_cast<int64_t>(batch.size());
  const size_t step = again == Again::kEachAlone ? 1 : (batch.size() + 1) / 2;
  for (size_t begin = 0; begin < batch.size(); begin += step) {
    Batch part;
    for (size_t i = begin; i < std::min(begin + step, batch.size()); ++i) {
      if (again == Again::kEachAlone) batch[i].key.clear();
      part.push_back(std::move(batch[i]));
    }
    run.queue->lane.PushBatch(std::move(part));
  }
}

void Scheduler::Ended(const RunPtr& run, Result<engine::RunResult> result) {
  const TimePoint now = steady_clock::now();
  const TimePoint end = run->started + run->least;
  if (now >= end) return Finish(run, std::move(result), now);
  const std::lock_guard lock(turns_mutex_);
  timers_.emplace(end, [this, run, result = std::move(result)]() mutable {
    const TimePoint ended = steady_clock::now();
    if (result) result->took = ended - run->started;
    Finish(run, std::move(result), ended);
  });
  WakeTimerAt(end);
}

// A single request that was padded runs once more with its own rows, because the error names the shapes of the run, and
// its client knows only the shapes that it sent.
Scheduler::Again Scheduler::AgainAfterError(const Run& run) {
  if (run.batch.size() > 1) return Again::kInHalves;
  const Task& only = run.batch.front();
  return !only.key.empty() && only.rows < run.rows_padded ? Again::kEachAlone : Again::kNot;
}

void Scheduler::Finish(const RunPtr& run, Result<engine::RunResult> result, TimePoint now) {
  const Duration held = now - run->started;
  std::optional<std::vector<engine::TensorMap>> parts;
  if (result) parts = Split(std::move(result->outputs), run->batch, run->rows_padded);
  const bool is_unbatchable = result && !parts;
  Again again = is_unbatchable ? Again::kEachAlone : Again::kNot;
  if (!result && MayBeCausedByOneRequest(result.error())) again = AgainAfterError(*run);
  QueueState& queue = *run->queue;
  {
    const std::lock_guard lock(queue.share->mutex);
    const std::string& signature = run->batch.front().request.signature;
    if (result) queue.forecast.Record(signature, run->bytes, held, now);
    if (is_unbatchable) queue.unbatchable.insert(signature);
    Turns::End(*queue.share, run->charged, held);
    if (!run->background) queue.share->usage.Ended(now);
  }
  if (again != Again::kNot || !slots_.FreeIfNoneWaits(run->background)) PassOnSlot(run, again);
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
  try {
    task->done(std::move(outcome));
  } catch (...) {  // This thread may still have to answer other requests, and to start runs that hold slots.
    spdlog::error("an answer may be lost: {}", FromThrown("the callback of a request").value().message);
  }
  task->done = nullptr;  // Destroys the captures of the callback before Drain can return.
  Release(queue);
}

void Scheduler::Release(const StatePtr& queue) {
  if (queue->in_use.fetch_sub(1) == 1) queue->in_use.notify_all();
}

}  // namespace longshore::batching
