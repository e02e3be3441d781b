// Converts a recording to TensorFlow's XSpace, which TensorBoard's profile plugin reads.
#pragma once

#include <string>

#include "serving-node/observe/profiling/recording.h"
#include "tensorflow/xplane.pb.h"

namespace longshore::profiling {

// Returns a profile as TensorFlow makes it for a host with a CPU: the plane "/host:CPU", and "Task Environment" with
// the times of the recording. `host` is the name of this node for the client.
//
// Runs at the same time are in different lines of the host plane, and each version has lines of its own. A run is an
// event "SessionRun", which contains an event "NODE:OP" for each node; a node contains the nodes of its bodies. Events
// "MemoryAllocation" and "MemoryDeallocation" in a further line show the memory of the version's runs in addition to
// weights and inputs. The first line has one event for the whole recording, so that a profile is never empty. Times of
// events are picoseconds since the start of the recording. Pure.
tensorflow::profiler::XSpace ToXSpace(const Recording& recording, const std::string& host);

}  // namespace longshore::profiling
