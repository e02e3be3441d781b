// A recording of the runs on a serving node: plain values, and their conversion from and to JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/json/json.h"
#include "serving-node/batching/run_watch.h"

namespace longshore::profiling {

inline constexpr int kRunsMax = 1000;
inline constexpr std::chrono::seconds kTimeMax{300};
inline constexpr std::chrono::seconds kGrace{10};                 // Extra time for runs in progress at the end.
inline constexpr int64_t kRecordingBytesMax = int64_t{32} << 20;  // Memory of all recorded runs and their nodes.

struct RecordingRequest {
  std::string model;  // "": all models.
  int runs = 20;      // The recording ends after this many runs, or after `time`.
  std::chrono::milliseconds time{30'000};
};

// Parses {"model": "digits", "runs": 20, "seconds": 30}; all fields are optional, and "" means {}. InvalidArgument
// names the field.
Result<RecordingRequest> ParseRecordingRequest(const std::string& text);

struct RecordedRun {
  std::string model;
  int64_t version = 0;
  batching::WatchedRun run;
};

struct Recording {
  int64_t id = 0;  // The first recording of the process has 1, the next one 2.
  RecordingRequest wanted;
  bool done = false;
  TimePoint at{};                                        // The start of the recording.
  std::chrono::steady_clock::time_point began{};         // The same time on the clock that times the runs.
  std::chrono::steady_clock::time_point until{};         // The end of the requested time; now if it is not over.
  std::vector<std::shared_ptr<const RecordedRun>> runs;  // In the order in which they ended.
  int64_t runs_left_out = 0;                             // Runs without memory for a record, or without a known end.
};

// {"id": 1, "state": "recording", "model": "digits", "runs": 3, "runs_wanted": 20, "seconds": 30, "nodes": 120,
// "nodes_left_out": 0, ...}; the state is "recording" or "done".
Json StateToJson(const Recording& recording);

}  // namespace longshore::profiling
