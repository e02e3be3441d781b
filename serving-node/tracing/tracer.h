// Begins the traces of requests.
#pragma once

#include <chrono>
#include <optional>

#include "serving-node/tracing/trace.h"

namespace longshore::tracing {

// Thread-safe. Must outlive its traces.
class Tracer {
 public:
  // `ratio` is the share of the traces that begin at this node and are recorded, from 0 to 1. `sink` takes the spans.
  Tracer(double ratio, SpanSink& sink) : ratio_(ratio), sink_(sink) {}

  // Begins the trace of a request that arrived at this time. `parent` is the span of the caller; without one, a new
  // trace begins.
  TracePtr Begin(std::optional<Context> parent, const ServerCall& call,
                 std::chrono::steady_clock::time_point arrived) const;

 private:
  const double ratio_;
  SpanSink& sink_;
};

}  // namespace longshore::tracing
