#include "serving-node/batching/refusals.h"

#include <algorithm>

namespace longshore::batching {
namespace {

int64_t Milliseconds(Duration duration) { return std::chrono::ceil<std::chrono::milliseconds>(duration).count(); }

Error ComesTooLate(Duration left, Duration at_least) {
  return {Code::kDeadlineExceeded, fmt::format("The deadline is {} ms away, and the answer would take at least {} ms",
                                               Milliseconds(left), Milliseconds(at_least))};
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

bool MayBeOnes(const Error& error) {
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
  // Who overtakes others has less before it, and nobody counts how much.
  const Duration before =
      first.terms.priority > 0 ? Duration(0) : lane.WorkBefore(first, *forecast, arrival.now) / arrival.runs_max;
  if (alone + before <= left) return std::nullopt;
  const bool ruled_out = alone > left && left > Duration(0) && tasks.size() == 1;
  if (!ruled_out || !forecast->LetsThrough(signature, lane.RunBytes(first), arrival.now)) {
    return ComesTooLate(left, alone + before);
  }
  first.ruled_out = true;
  first.key.clear();  // What it takes by itself is what is to be known.
  return std::nullopt;
}

}  // namespace longshore::batching
