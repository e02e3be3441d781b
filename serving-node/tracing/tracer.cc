#include "serving-node/tracing/tracer.h"

#include <utility>

#include "serving-node/tracing/sampler.h"

namespace longshore::tracing {

TracePtr Tracer::Begin(std::optional<Context> parent, const ServerCall& call,
                       std::chrono::steady_clock::time_point arrived) const {
  Context own{.trace_id = parent ? parent->trace_id : TraceId{RandomId(), RandomId()}, .span_id = RandomId()};
  own.sampled = IsSampled(parent, own.trace_id, ratio_);
  if (parent) own.state = std::move(parent->state);
  Trace::Clocks clocks{.steady = arrived, .system = {}};
  if (own.sampled) {
    using std::chrono::system_clock;
    const auto ago = std::chrono::steady_clock::now() - arrived;
    clocks.system = system_clock::now() - std::chrono::duration_cast<system_clock::duration>(ago);
  }
  return std::make_shared<const Trace>(std::move(own), parent ? parent->span_id : 0, call, clocks, sink_);
}

}  // namespace longshore::tracing
