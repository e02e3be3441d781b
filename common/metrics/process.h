// Metrics of the process itself, with the names that Prometheus' client libraries use.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/metrics/metrics.h"

namespace longshore::metrics {

// Adds process_start_time_seconds, process_cpu_seconds_total, process_resident_memory_bytes, process_open_fds,
// process_max_fds and longshore_build_info.
void AddProcessMetrics(TimePoint started, const std::string& version, Registry& registry);

}  // namespace longshore::metrics
