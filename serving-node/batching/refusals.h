// The errors with which a queue rejects requests, as clients see them. Pure.
#pragma once

#include <optional>
#include <span>

#include "serving-node/batching/lane.h"

namespace longshore::batching {

// Returns Unavailable, with TensorFlow Serving's text. `waiting`: the number of requests in the queue.
Error QueueIsFull(size_t waiting);
Error WasCancelled();
// Returns DeadlineExceeded: the deadline has passed, or recent runs took longer than the time left.
Error HasWaitedTooLong(const Task& task, TimePoint now);

// Whether a single request may be the reason why its batch failed, so that the batch is retried in parts. True for
// ResourceExhausted: one request, or the batch as a whole, may need too much memory. False for overload, cancellation,
// deadlines and permissions.
bool MayBeCausedByOneRequest(const Error& error);

struct Arrival {
  int runs_max = 1;  // Concurrent runs of the node.
  TimePoint now;
};
// Checks the deadline of an arriving request, given as one task or as the tasks it was split into. Returns
// DeadlineExceeded if the deadline cannot be met with the work that waits before the request and a margin of an eighth
// of its time, because a wait is known only roughly. Sets least_run and likely_run of the tasks. Requires: at least one
// task.
std::optional<Error> RefuseLate(std::span<Task> tasks, const Lane& lane, const Arrival& arrival, Forecast* forecast);

}  // namespace longshore::batching
