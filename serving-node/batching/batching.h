// Admission and batching: decides when the requests for a version run on the engine, and which of them run together.
//
// A node has one Admission, which limits the number of concurrent runs and divides the run time fairly among the models
// that have work. Every version has its own Queue, so a batch never mixes versions. A queue joins requests with the
// same signature, types and shapes along dimension 0, runs them as one batch and returns to each request its own rows:
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
  int max_batch_size = 1;                  // Rows; 0 or 1: every request runs alone, whatever its size.
  std::chrono::microseconds max_delay{0};  // How long a request waits for others to fill its batch.
  int queue_max = 1000;                    // Requests waiting; more are refused.
  int queue_batches_max = 0;               // Full batches waiting per kind of request; more are refused. 0: no limit.
  std::vector<int> allowed_batch_sizes{};  // Increasing; a batch is padded to the next of them. Empty: no padding.
  int request_rows_max = 0;  // Larger requests are refused; those above max_batch_size are split. 0: max_batch_size.
  bool pad_rows = false;     // Rows of different sizes may run together (padding.h).

  friend bool operator==(const Options&, const Options&) = default;
};

// How a queue treats a request.
inline constexpr int kPriorityMax = 9;
struct Terms {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // 0 to kPriorityMax. Each step is worth kHeadStart: a request overtakes requests whose priority is n steps lower and
  // that arrived up to n * kHeadStart earlier. A low priority is never starved.
  int priority = 0;
  // When a stop is requested, the request leaves the queue without running.
  std::stop_token cancelled{};
};
inline constexpr std::chrono::milliseconds kHeadStart{100};

struct RunOutcome {
  engine::TensorMap outputs;
  std::chrono::microseconds queue_time{0};  // From Submit to the start of the run.
  std::chrono::microseconds fill_time{0};   // Part of queue_time: waiting for more requests to fill the batch.
  std::chrono::microseconds run_time{0};    // Execution of the whole batch, without waiting.
  int batch_rows = 0;                       // Rows of all requests that ran together; 0 when it ran unbatched.
  int padded_rows = 0;                      // Rows that the batch ran with; 0 when it ran unbatched.
  bool first_of_batch = true;               // True for exactly one request of each run: counts runs.
};
using Done = std::function<void(Result<RunOutcome>)>;

struct Limits {
  int concurrent_runs_max = 0;  // Runs at once on this node; 0: as many as it has processors.
  // A run takes at least this long and keeps its slot until then. Imitates a busy accelerator in test fleets.
  std::chrono::microseconds simulated_run{0};
};
inline constexpr int kConcurrentRunsMax = 4096;

// The counters only grow; a rate is the difference of two readings.
struct Load {
  int64_t running = 0;  // Runs, not requests.
  int64_t queued = 0;   // Requests waiting.
  int64_t concurrent_runs_max = 0;
  double busy_seconds = 0;   // Sum over the slots, including the current runs so far.
  double queue_seconds = 0;  // Sum of the waiting times of started requests.
  int64_t started = 0;       // Requests.
  int64_t refused = 0;       // Requests rejected because the queue was full or the deadline too near.
};

class Scheduler;

// Thread-safe. Must outlive its queues.
class Admission {
 public:
  explicit Admission(Limits limits = {});
  ~Admission();
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // Takes effect for the next runs; current runs continue.
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

  // Queues with the same share name split one fair share of the run time; "" is a share of its own. `watch` records
  // runs (run_watch.h); may be null.
  Queue(Admission& admission, std::shared_ptr<engine::LoadedModel> model, Options options,
        const std::string& share = "", std::shared_ptr<RunWatch> watch = nullptr);
  // Runs the requests that still wait, without delay, and returns when all are answered. Must not be called from within
  // a Done.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Calls done exactly once, on any thread, possibly before Submit returns; done must not block.
  // Errors besides the engine's: Unavailable if the queue is full, InvalidArgument if the request has too many rows
  // (both with TensorFlow Serving's texts), DeadlineExceeded if the deadline has passed or recent runs took longer than
  // the time left, Cancelled.
  void Submit(engine::RunRequest request, Terms terms, Done done);

  const Options& options() const;

 private:
  struct State;
  friend class Scheduler;
  std::shared_ptr<State> state_;
  std::shared_ptr<Scheduler> scheduler_;
};

}  // namespace longshore::batching
