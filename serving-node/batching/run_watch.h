// Looking into the runs of a version while it serves.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "serving-node/engine/engine.h"

namespace longshore::batching {

// A run that somebody looks into.
struct WatchedRun {
  std::string signature;
  std::string inputs;                             // "image DT_FLOAT [8,8,8,1]", as the engine got them.
  int64_t requests = 0;                           // That ran together.
  int64_t rows = 0;                               // Of all of them; 0 when the queue does not look at rows.
  int64_t rows_padded = 0;                        // That it ran with.
  std::chrono::steady_clock::time_point began{};  // When it was given to the engine.
  std::chrono::steady_clock::time_point ended{};
  std::string error;  // Its code: texts may have what clients sent. "": it went well.
  engine::RunProfile profile;
};

// Thread-safe; must not block. Outlives the queue that it is given to. Where memory does not suffice for watching,
// std::bad_alloc from these among it, the run goes on, and what Begin gave is dropped without Ended.
class RunWatch {
 public:
  virtual ~RunWatch() = default;

  // Before each run: null when nobody looks into it, which must cost next to nothing.
  virtual std::shared_ptr<WatchedRun> Begin() = 0;
  // When all of it is filled in.
  virtual void Ended(const std::shared_ptr<WatchedRun>& run) = 0;
};

}  // namespace longshore::batching
