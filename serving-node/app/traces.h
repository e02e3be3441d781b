// The export of traces, assembled from the flags.
#pragma once

#include <memory>

#include "common/base/error.h"
#include "common/metrics/metrics.h"
#include "serving-node/app/flags/flags.h"
#include "serving-node/tracing/otlp/exporter.h"
#include "serving-node/tracing/tracer.h"

namespace longshore::app {

struct Traces {
  std::unique_ptr<tracing::otlp::Exporter> exporter;  // Both are null if the node exports no traces.
  std::unique_ptr<tracing::Tracer> tracer;

  // Sends the spans that wait, for at most a few seconds. For the end of the process.
  void Flush() const;
};

// The registry must outlive the traces. FailedPrecondition if the endpoint or a header is not usable.
Result<Traces> StartTraces(const flags::Flags& flags, metrics::Registry& registry);

}  // namespace longshore::app
