// Admission and batching: between the requests for a version and the engine's runs.
//
// A node has one Admission: so many runs at once, shared by run time among the models that have work. Every version has
// its own Queue, so one batch never holds requests of two versions. A queue joins requests for the same signature with
// the same types and shapes along dimension 0, runs them as one and gives each its own rows back:
//
//   Options{.max_batch_size = 4, .max_delay = 2ms}: requests of 1, 2 and 1 rows run at once as one batch of 4 rows;
//   a lone request runs after 2 ms, or at once when its deadline would pass before that.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "common/error.h"
#include "serving-node/batching/run_watch.h"
#include "serving-node/engine/engine.h"

namespace longshore::batching {

struct Options {
  int max_batch_size = 1;                  // Rows; 0 or 1: every request runs alone, of whatever size.
  std::chrono::microseconds max_delay{0};  // How long a request waits for others to fill its batch.
  int queue_max = 1000;                    // Requests waiting; more are refused.
  int queue_batches_max = 0;               // Full batches of one kind waiting; more are refused. 0: no such limit.
  std::vector<int> allowed_batch_sizes{};  // Increasing; a batch is padded to the next of them. Empty: no padding.
  int request_rows_max = 0;                // Requests of so many rows are cut to fit batches. 0: max_batch_size.
  bool pad_rows = false;                   // Rows of different sizes may run together (padding.h).

  friend bool operator==(const Options&, const Options&) = default;
};

// What a request asks of its queue.
inline constexpr int kPriorityMax = 9;
struct Terms {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // 0 to kPriorityMax. Each step is worth kHeadStart: a request overtakes those of a lower priority that came up to so
  // much before it, and none for ever.
  int priority = 0;
  // Once it is requested to stop, the request leaves the queue unrun.
  std::stop_token cancelled{};
};
inline constexpr std::chrono::milliseconds kHeadStart{100};

struct RunOutcome {
  engine::TensorMap outputs;
  std::chrono::microseconds queue_time{0};  // From Submit to the start of the run.
  std::chrono::microseconds fill_time{0};   // The part of it in which the batch waited for company.
  std::chrono::microseconds run_time{0};    // Of the execution alone, of the whole batch.
  int batch_rows = 0;                       // Rows of all requests that ran together; 0 when it ran unbatched.
  int padded_rows = 0;                      // Rows that the batch ran with; 0 when it ran unbatched.
  bool first_of_batch = true;               // One of the requests that ran together: their run is one observation.
};
using Done = std::function<void(Result<RunOutcome>)>;

struct Limits {
  int concurrent_runs_max = 0;  // Runs at once on this node; 0: as many as it has processors.
  // A run takes at least this long and holds its slot meanwhile: stands for a busy accelerator in test fleets.
  std::chrono::microseconds simulated_run{0};
};
inline constexpr int kConcurrentRunsMax = 4096;

// The counters only grow; a rate is the difference of two readings.
struct Load {
  int64_t running = 0;  // Runs, not requests.
  int64_t queued = 0;   // Requests waiting.
  int64_t concurrent_runs_max = 0;
  double busy_seconds = 0;   // Sum over the slots, the runs under way included.
  double queue_seconds = 0;  // Sum of the waiting times of started requests.
  int64_t started = 0;       // Requests.
  int64_t refused = 0;       // Requests that were not run: their queue was full, or their deadline too near.
};

class Scheduler;

// Thread-safe. Must outlive its queues.
class Admission {
 public:
  explicit Admission(Limits limits = {});
  ~Admission();
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // Takes effect for the next runs; those under way go on.
  void SetLimits(Limits limits);
  Load load() const;
  // Requests waiting now; takes no lock.
  int64_t queued() const;

 private:
  friend class Queue;
  std::shared_ptr<Scheduler> scheduler_;
};

// The queue of one version. Thread-safe.
class Queue {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Queues of one share get together what a queue of its own share gets alone. "": its own. `watch`: who looks into its
  // runs; null: nobody.
  Queue(Admission& admission, std::shared_ptr<engine::LoadedModel> model, Options options,
        const std::string& share = "", std::shared_ptr<RunWatch> watch = nullptr);
  // Runs what still waits, without delay, and returns when all of it is answered. Not from within a Done.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Calls done exactly once, on any thread, possibly before Submit returns; done must not block.
  // Errors beside the engine's: Unavailable when the queue is full, InvalidArgument for more rows than it takes (both
  // with TensorFlow Serving's texts), DeadlineExceeded when the deadline passed or runs of late took longer than it
  // leaves, Cancelled.
  void Submit(engine::RunRequest request, Terms terms, Done done);

  const Options& options() const;

 private:
  struct State;
  friend class Scheduler;
  std::shared_ptr<State> state_;
  std::shared_ptr<Scheduler> scheduler_;
};

}  // namespace longshore::batching
