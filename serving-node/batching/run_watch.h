// Records runs of a version while it serves, for profiling.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "serving-node/engine/engine.h"

namespace longshore::batching {

// A recorded run.
struct WatchedRun {
  std::string signature;
  std::string inputs;                             // "image DT_FLOAT [8,8,8,1]", as the engine got them.
  int64_t requests = 0;                           // Requests in the batch.
  int64_t rows = 0;                               // Rows of all requests; 0 if the request was not batchable.
  int64_t rows_padded = 0;                        // Rows including the padding.
  std::chrono::steady_clock::time_point began{};  // When the engine got the run.
  std::chrono::steady_clock::time_point ended{};
  std::string error;  // The error code, without the text, which may contain client data. "": success.
  engine::RunProfile profile;
};

// Thread-safe; must not block. Must outlive the queue that uses it. If there is not enough memory for recording (for
// example, Begin or Ended throws std::bad_alloc), the run continues, and its WatchedRun is destroyed without Ended.
class RunWatch {
 public:
  virtual ~RunWatch() = default;

  // Called before each run. Returns null if the run is not to be recorded; this must be cheap.
  virtual std::shared_ptr<WatchedRun> Begin() = 0;
  // Called when all fields of `run` are set.
  virtual void Ended(const std::shared_ptr<WatchedRun>& run) = 0;
};

}  // namespace longshore::batching
