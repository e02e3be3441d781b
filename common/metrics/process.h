// What /metrics says of the program itself, under the names that Prometheus' client libraries use.
#pragma once

#include <string>

#include "common/clock.h"
#include "common/metrics/metrics.h"

namespace longshore::metrics {

// process_start_time_seconds, process_cpu_seconds_total, process_resident_memory_bytes, process_open_fds,
// process_max_fds and longshore_build_info.
void ShowProcess(TimePoint started, const std::string& version, Registry& registry);

}  // namespace longshore::metrics
