#pragma once

#include <chrono>

#include "serving-node/batching/batching.h"

namespace longshore::batching {

// Runs the request when no client's request waits, and blocks until it has ended. The error is DEADLINE_EXCEEDED if no
// slot is idle within `patience`, or that of Queue::Submit.
Result<RunOutcome> RunInBackground(Queue& queue, engine::RunRequest request, std::chrono::milliseconds patience);

}  // namespace longshore::batching
