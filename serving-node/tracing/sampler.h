// Decides which traces are recorded: OpenTelemetry's sampler parentbased_traceidratio. Pure.
#pragma once

#include <optional>

#include "serving-node/tracing/context.h"

namespace longshore::tracing {

// Returns whether the node records its spans of this trace. The caller's decision counts; `ratio`, from 0 to 1, is the
// share of the traces that begin at this node. All programs that use the same ratio decide alike, because the decision
// depends only on the id: the lower 63 bits are compared with ratio * 2^63.
bool IsSampled(const std::optional<Context>& parent, const TraceId& id, double ratio);

}  // namespace longshore::tracing
