#include "serving-node/batching/refusals.h"

#include <algorithm>

namespace longshore::batching {
namespace {

int64_t Milliseconds(Duration duration) { return std::chrono::ceil<std::chrono::milliseconds>(duration).count(); }

// The wait before a request is known only roughly, and its client counts from an earlier time than this node. An answer
// that comes after the deadline is lost work, so a request is admitted only if it could wait longer by this part.
constexpr int kWaitMargin = 8;

// `margin`: how much longer the answer may take because its wait is known only roughly.
Error DeadlineTooNear(Duration left, Duration at_least, Duration margin) {
  std::string text = fmt::format("The deadline is {} ms away, and the answer would take at least {} ms",
                                 Milliseconds(left), Milliseconds(at_least));
  if (at_least <= left) text += fmt::format("; its wait may take {} ms more than expected", Milliseconds(margin));
  return {Code::kDeadlineExceeded, std::move(text)};
}

}  // namespace

Error QueueIsFull(size_t waiting) {
  return {Code::kUnavailable,
          fmt::format("The batch scheduling queue to which this task was submitted is full; {} requests wait already",
                      waiting)};
}

Error WasCancelled() { return {Code::kCancelled, "The request was cancelled while it waited"}; }

Error HasWaitedTooLong(const Task& task, TimePoint now) {
  const int64_t waited = std::chrono::floor<std::chrono::milliseconds>(now - task.submitted).count();
  if (task.terms.deadline <= now) {
    return {Code::kDeadlineExceeded,
            fmt::format("The deadline passed after {} ms in the queue, before the run began", waited)};
  }
  return {Code::kDeadlineExceeded,
          fmt::format("The deadline is {} ms away after {} ms in the queue, and the run takes at least {} ms",
                      Milliseconds(task.terms.deadline - now), waited, Milliseconds(task.least_run))};
}

bool MayBeCausedByOneRequest(const Error& error) {
  switch (error.code) {
    case Code::kCancelled:
    case Code::kDeadlineExceeded:
    case Code::kUnavailable:
    case Code::kAborted:
    case Code::kUnauthenticated:
    case Code::kPermissionDenied: return false;
    default: return true;
  }
}

std::optional<Error> RefuseLate(std::span<Task> tasks, const Lane& lane, const Arrival& arrival, Forecast* forecast) {
  Task& first = tasks.front();
  const std::string& signature = first.request.signature;
  Duration parts{0};
  for (Task& task : tasks) {
    const int64_t bytes = lane.RunBytes(task);
    task.least_run = forecast->AtLeast(signature, bytes, arrival.now);
    task.likely_run = forecast->Likely(signature, bytes, arrival.now);
    parts += task.least_run;
  }
  const Duration left = first.terms.deadline - arrival.now;
  const Duration alone = std::max(first.least_run, parts / arrival.runs_max);
  // A request with a priority is assumed to overtake all others, because how many it overtakes is not computed.
  const Duration before =
      first.terms.priority > 0 ? Duration(0) : lane.WorkBefore(first, *forecast, arrival.now) / arrival.runs_max;
  const Duration margin = before / kWaitMargin;
  if (alone + before + margin <= left) return std::nullopt;
  const bool is_probe = alone > left && left > Duration(0) && tasks.size() == 1;
  if (!is_probe || !forecast->AllowProbe(signature, lane.RunBytes(first), arrival.now)) {
    return DeadlineTooNear(left, alone + before, margin);
  }
  first.is_probe = true;
  first.key.clear();  // A probe runs alone, so that its own run time is measured.
  return std::nullopt;
}

}  // namespace longshore::batching
