// When the runs of a recording were under way, for the writers of traces. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "serving-node/observe/profiling/recording.h"

namespace longshore::profiling {

// Times since the start of the recording.
struct Span {
  std::chrono::nanoseconds began;
  std::chrono::nanoseconds ended;
};

struct TimedRun {
  const RecordedRun* recorded;
  Span span;
  size_t row;  // Runs in the same row do not overlap.
};

// The total memory of the runs of a version from this time on, in addition to weights and inputs.
struct MemoryPoint {
  std::chrono::nanoseconds at;
  int64_t bytes;
};

struct VersionTimeline {
  std::string name;            // "digits version 2"
  std::vector<TimedRun> runs;  // By start.
  size_t rows = 0;             // As many as runs were under way at the same time.
  std::vector<MemoryPoint> memory;
};

// Returns the timelines of all versions, by model and number. They refer to the runs of the recording.
std::vector<VersionTimeline> TimelinesOf(const Recording& recording);

// Returns the times of the node since the start of the recording.
Span SpanOf(const engine::NodeRun& node, const TimedRun& run);

// Returns the nodes of the run by start, a node before the nodes of its bodies.
std::vector<const engine::NodeRun*> NodesByStart(const RecordedRun& recorded);

}  // namespace longshore::profiling
