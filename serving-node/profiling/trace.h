// A recording as viewers of traces open it: chrome://tracing, Perfetto, TensorBoard.
#pragma once

#include <string>

#include "serving-node/profiling/recording.h"

namespace longshore::profiling {

// JSON in Chrome's Trace Event Format. A version is a process; of its runs those that are under way at once have a row
// each. A run is a slice, in it what came before its first node ("plan") and each node, in a node those of its bodies;
// the counter "memory of runs" adds up what runs of the version hold beside weights and inputs. Times are microseconds
// since the recording began. Pure.
std::string ToTrace(const Recording& recording);

}  // namespace longshore::profiling
