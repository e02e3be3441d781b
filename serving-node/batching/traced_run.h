// The spans of runs (serving-node/tracing).
#pragma once

#include <memory>

#include "common/base/error.h"
#include "serving-node/batching/task.h"
#include "serving-node/batching/types.h"
#include "serving-node/tracing/trace.h"

namespace longshore::batching {

// Returns the sampled requests of the batch; null if there are none.
std::shared_ptr<const TracedBatch> TracedOf(const Batch& batch);

// Makes the spans of a request whose run has ended. `submitted` is the time at which its queue got the request, and
// counts only if the run failed: a successful outcome has more exact times.
void TraceRun(const tracing::Trace& trace, TimePoint submitted, const Result<RunOutcome>& outcome);

}  // namespace longshore::batching
