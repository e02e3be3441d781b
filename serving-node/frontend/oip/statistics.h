// The statistics extension.
#pragma once

#include <cstdint>
#include <string>

#include "inference/service.pb.h"
#include "serving-node/routing/run_statistics.h"

namespace longshore::frontend::oip {

// Returns the statistics of a version. The times to read inputs and to write outputs (compute_input, compute_output)
// are 0, because the node does not measure them; it has no cache.
::inference::ModelStatistics ToProto(const std::string& model, int64_t version,
                                     const routing::VersionStatistics& statistics);

}  // namespace longshore::frontend::oip
