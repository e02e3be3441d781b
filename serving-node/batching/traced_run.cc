#include "serving-node/batching/traced_run.h"

#include <chrono>
#include <new>
#include <vector>

namespace longshore::batching {

std::shared_ptr<const TracedBatch> TracedOf(const Batch& batch) try {
  std::shared_ptr<TracedBatch> traced;
  for (const Task& task : batch) {
    if (!task.terms.trace || !task.terms.trace->sampled()) continue;
    if (!traced) traced = std::make_shared<TracedBatch>();
    if (traced->spans.size() == TracedBatch::kSpansMax) {
      traced->more += 1;
    } else {
      const tracing::Context& context = task.terms.trace->context();
      traced->spans.push_back({context.trace_id, context.span_id});
    }
  }
  return traced;
} catch (const std::bad_alloc&) {  // The answers do not depend on their traces.
  return nullptr;
}

void TraceRun(const tracing::Trace& trace, TimePoint submitted, const Result<RunOutcome>& outcome) try {
  if (!trace.sampled()) return;
  const auto now = std::chrono::steady_clock::now();
  if (!outcome) return trace.Failed({.submitted = submitted, .ended = now, .code = outcome.error().code});
  tracing::Run run{.submitted = outcome->started - outcome->queue_time,
                   .filled = outcome->started - outcome->queue_time + outcome->fill_time,
                   .started = outcome->started,
                   .ended = now,
                   .took = outcome->run_time,
                   .batch_rows = outcome->batch_rows,
                   .padded_rows = outcome->padded_rows};
  if (outcome->traced) {
    run.shared_with = outcome->traced->spans;
    std::erase_if(run.shared_with, [&](const auto& one) { return one.span_id == trace.context().span_id; });
    run.shared_with_more = outcome->traced->more;
  }
  trace.Ran(run);
} catch (const std::bad_alloc&) {  // As above.
}

}  // namespace longshore::batching
