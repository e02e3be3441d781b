// Converts a recording to the format of trace viewers: chrome://tracing, Perfetto, TensorBoard.
#pragma once

#include <string>

#include "serving-node/observe/profiling/recording.h"

namespace longshore::profiling {

// Returns JSON in Chrome's Trace Event Format. Each version is a process; runs at the same time are in different rows
// ("threads"). Each run is a slice that contains a slice "plan" for the time before its first node and a slice for each
// node; a node contains the nodes of its bodies. The counter "memory of runs" is the total memory of the version's runs
// in addition to weights and inputs. Times are microseconds since the start of the recording. Pure.
std::string ToTrace(const Recording& recording);

}  // namespace longshore::profiling
