// The types that callers of a queue use: options of queues, terms of requests, outcomes of runs, limits and load.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "common/base/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/tracing/trace.h"

namespace longshore::batching {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

struct Options {
  int max_batch_size = 1;                  // In rows; 0 or 1: every request runs alone, whatever its size.
  std::chrono::microseconds max_delay{0};  // How long a request waits for others to fill its batch.
  int queue_max = 1000;                    // Maximum number of waiting requests of the share; further ones are refused.
  // Maximum number of waiting full batches per kind; 0: no limit. If set, queue_max is a limit of this queue alone.
  int queue_batches_max = 0;
  std::vector<int> allowed_batch_sizes{};  // Increasing; a batch is padded to the next larger size. Empty: no padding.
  // Requests with more rows are refused. Requests between max_batch_size and this limit are split. 0: max_batch_size.
  int request_rows_max = 0;
  bool pad_rows = false;  // Rows of different sizes may run together (padding.h).

  friend bool operator==(const Options&, const Options&) = default;
};

inline constexpr int kPriorityMax = 9;
// How a queue treats a request.
struct Terms {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // 0 to kPriorityMax. Each step is worth kHeadStart: a request overtakes requests whose priority is n steps lower and
  // that arrived up to n * kHeadStart earlier. A low priority is never starved.
  int priority = 0;
  // When a stop is requested, the request leaves the queue without running.
  std::stop_token cancelled{};
  // Work that no user waits for. It starts only while no other request waits for a slot, and leaves one slot free if
  // the node has more than one. It runs alone, never displaces a request, and is not part of Load. If it has not begun
  // at its deadline, it is answered with DeadlineExceeded. `priority` and `cancelled` have no effect.
  bool background = false;
  tracing::TracePtr trace{};  // Null if the node exports no traces, or made the request itself.
};
inline constexpr std::chrono::milliseconds kHeadStart{100};

// The sampled requests that ran together.
struct TracedBatch {
  static constexpr size_t kSpansMax = 64;
  std::vector<tracing::Link> spans{};  // The server spans of the requests; at most kSpansMax.
  size_t more = 0;                     // The number of those that are not in `spans`.
};

struct RunOutcome {
  engine::TensorMap outputs;
  TimePoint started{};                      // When the run began.
  std::chrono::microseconds queue_time{0};  // From Submit to the start of the run.
  std::chrono::microseconds fill_time{0};   // Part of queue_time: waiting for more requests to fill the batch.
  std::chrono::nanoseconds run_time{0};     // Execution of the whole batch, without waiting.
  bool planned = false;                     // run_time includes planning for new shapes: RunResult::planned.
  int batch_rows = 0;                       // Rows of all requests that ran together; 0 if the request ran unbatched.
  int padded_rows = 0;                      // Rows that the batch ran with; 0 if the request ran unbatched.
  bool first_of_batch = true;               // True for exactly one request of each run, to count runs.
  std::shared_ptr<const TracedBatch> traced{};  // Null if no request of the run is sampled.
};
using Done = std::function<void(Result<RunOutcome>)>;

struct Limits {
  int concurrent_runs_max = 0;  // Concurrent runs on this node; 0: one per processor.
  // A run takes at least this long and keeps its slot until then. Imitates a busy accelerator in test fleets.
  std::chrono::microseconds simulated_run{0};
};
inline constexpr int kConcurrentRunsMax = 4096;

// busy_seconds and the fields below it only grow, so the difference of two readings gives a rate. Background requests
// (Terms) are left out, because they make room for others.
struct Load {
  int64_t running = 0;  // Number of current runs; a run may contain several requests.
  int64_t queued = 0;   // Requests waiting.
  int64_t concurrent_runs_max = 0;
  double busy_seconds = 0;   // Busy time of all slots together, including the current runs so far.
  double queue_seconds = 0;  // Sum of the waiting times of started requests.
  int64_t started = 0;       // Requests.
  int64_t refused = 0;       // Requests rejected because the queue was full or the deadline too near.
};

}  // namespace longshore::batching
