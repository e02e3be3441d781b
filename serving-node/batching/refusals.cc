#include "serving-node/batching/refusals.h"

namespace longshore::batching {
namespace {

int64_t Milliseconds(Duration duration) { return std::chrono::ceil<std::chrono::milliseconds>(duration).count(); }

}  // namespace

Error QueueIsFull(size_t waiting) {
  return {Code::kUnavailable,
          fmt::format("The batch scheduling queue to which this task was submitted is full; {} requests wait already",
                      waiting)};
}

Error WasCancelled() { return {Code::kCancelled, "The request was cancelled while it waited"}; }

Error ComesTooLate(Duration left, Duration at_least) {
  return {Code::kDeadlineExceeded, fmt::format("The deadline is {} ms away, and the answer would take at least {} ms",
                                               Milliseconds(left), Milliseconds(at_least))};
}

Error HasWaitedTooLong(const Task& task, TimePoint now, Duration run_at_least) {
  const int64_t waited = std::chrono::floor<std::chrono::milliseconds>(now - task.submitted).count();
  if (task.terms.deadline <= now) {
    return {Code::kDeadlineExceeded,
            fmt::format("The deadline passed after {} ms in the queue, before the run began", waited)};
  }
  return {Code::kDeadlineExceeded,
          fmt::format("The deadline is {} ms away after {} ms in the queue, and the run takes at least {} ms",
                      Milliseconds(task.terms.deadline - now), waited, Milliseconds(run_at_least))};
}

}  // namespace longshore::batching
