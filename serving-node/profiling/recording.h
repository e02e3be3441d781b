// What a node has recorded of its runs. Values.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "common/json/json.h"
#include "serving-node/batching/run_watch.h"

namespace longshore::profiling {

inline constexpr int kRunsMax = 1000;
inline constexpr std::chrono::seconds kTimeMax{300};
inline constexpr std::chrono::seconds kGrace{10};                 // For runs that are under way when the time is up.
inline constexpr int64_t kRecordingBytesMax = int64_t{32} << 20;  // Of all runs and their nodes.

struct Wanted {
  std::string model;  // "": all of them.
  int runs = 20;      // The next so many.
  std::chrono::seconds time{30};
};

// {"model": "digits", "runs": 20, "seconds": 30}, each of which may be left out; "" is {}. InvalidArgument names the
// field.
Result<Wanted> ParseWanted(const std::string& text);

struct RecordedRun {
  std::string model;
  int64_t version = 0;
  batching::WatchedRun run;
};

struct Recording {
  int64_t id = 0;  // From 1 on.
  Wanted wanted;
  bool done = false;
  TimePoint at{};                                        // When it began, and
  std::chrono::steady_clock::time_point began{};         // the same for what runs say.
  std::vector<std::shared_ptr<const RecordedRun>> runs;  // As they ended.
  int64_t runs_left_out = 0;                             // For want of memory.
};

// {"id": 1, "state": "recording", "model": "digits", "runs": 3, "runs_wanted": 20, "seconds": 30, "nodes": 120,
// "nodes_left_out": 0, ...}; the state is "recording" or "done".
Json StateToJson(const Recording& recording);

}  // namespace longshore::profiling
