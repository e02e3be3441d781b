// Why a queue does not run a request, in the words that clients see.
#pragma once

#include "serving-node/batching/lane.h"

namespace longshore::batching {

// Unavailable, with TensorFlow Serving's text.
Error QueueIsFull(size_t waiting);
Error WasCancelled();
// DeadlineExceeded. On arrival: runs of late took longer than is left. Later: so did they, or nothing is left.
Error ComesTooLate(Duration left, Duration at_least);
Error HasWaitedTooLong(const Task& task, TimePoint now, Duration run_at_least);

}  // namespace longshore::batching
