// A request that waits in a queue, and groups of such requests.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "serving-node/batching/types.h"
#include "serving-node/engine/engine.h"

namespace longshore::batching {

// The order in which requests run: by arrival, moved forward by kHeadStart per step of priority. Unique per request.
struct Rank {
  TimePoint time;
  uint64_t number = 0;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

struct Task {
  engine::RunRequest request;
  Done done;
  TimePoint submitted;
  Terms terms{};
  int64_t rows = 0;
  int64_t bytes = 0;      // Size of the inputs.
  std::string key{};      // Requests of one key may run together; "": runs alone.
  Duration least_run{0};  // Minimum and likely time of a run of this task alone, estimated on arrival; 0: unknown.
  Duration likely_run{0};
  bool is_probe = false;  // A probe: runs although it is expected to be too late (Forecast::AllowProbe).
  uint64_t number = 0;    // Arrival number, unique in the node.
  // Removes the task from its queue on cancellation. The destructor waits for a running callback, so it must not run
  // under a lock that the callback takes.
  std::unique_ptr<std::stop_callback<std::function<void()>>> on_cancel{};

  Rank rank() const { return {submitted - terms.priority * kHeadStart, number}; }
};
using Batch = std::vector<Task>;  // Tasks of one key, in order of rank.

// The tasks that one call of Take removes.
struct Taken {
  Batch batch;      // Empty if all candidates were late.
  Batch late;       // Tasks that were cancelled, or cannot meet their deadlines even if they ran alone now.
  TimePoint ready;  // When the batch stopped waiting for more requests.
};

}  // namespace longshore::batching
