// Why a queue does not run a request, in the words that clients see. Pure.
#pragma once

#include <optional>
#include <span>

#include "serving-node/batching/lane.h"

namespace longshore::batching {

// Unavailable, with TensorFlow Serving's text.
Error QueueIsFull(size_t waiting);
Error WasCancelled();
// DeadlineExceeded: its runs of late took longer than is left, or nothing is left.
Error HasWaitedTooLong(const Task& task, TimePoint now);

// Whether one request of a batch can be why all of it failed, so that the others are worth a run without it. Memory is
// of that kind: what one request or their sum asks for is too much. What is full, gone or too late is not.
bool MayBeOnes(const Error& error);

struct Arrival {
  int runs_max = 1;  // At once.
  TimePoint now;
};
// On arrival, of one request or the parts of one: DeadlineExceeded when it cannot be in time with what waits before it.
// Notes in the tasks what they take. Requires: at least one.
std::optional<Error> RefuseLate(std::span<Task> tasks, const Lane& lane, const Arrival& arrival, Forecast* forecast);

}  // namespace longshore::batching
