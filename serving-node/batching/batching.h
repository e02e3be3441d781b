// Admission and batching: decides when the requests for a version run on the engine, and which of them run together.
//
// A node has one Admission, which limits the number of concurrent runs and divides the run time fairly among the models
// that have work. Every version has its own Queue, so a batch never mixes versions. A queue joins requests with the
// same signature, types and shapes along dimension 0, runs them as one batch and returns to each request its own rows:
//
//   Options{.max_batch_size = 4, .max_delay = 2ms}: requests of 1, 2 and 1 rows run immediately as one batch of 4 rows;
//   a single request runs after 2 ms, or immediately if its deadline would pass before that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "serving-node/batching/run_watch.h"
#include "serving-node/batching/types.h"
#include "serving-node/engine/engine.h"

namespace longshore::batching {

class Scheduler;
struct QueueState;

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
  // Returns the number of requests that wait now; takes no lock.
  int64_t queued() const;

 private:
  friend class Queue;
  std::shared_ptr<Scheduler> scheduler_;
};

// The queue of one version. Thread-safe.
class Queue {
 public:
  // Queues with the same share name split one fair share of the run time, and one limit of waiting requests: each queue
  // counts the waiting requests of all of them. "" gives the queue its own share. `watch` records runs (run_watch.h);
  // may be null.
  Queue(Admission& admission, std::shared_ptr<engine::LoadedModel> model, Options options,
        const std::string& share = "", std::shared_ptr<RunWatch> watch = nullptr);
  // Runs the requests that still wait, without delay, except background requests (Terms), which get an error. Returns
  // when all are answered. Must not be called from within a Done callback.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Queues the request. Calls `done` exactly once, on any thread, possibly before Submit returns; `done` must not
  // block. If `done` throws, its client may get no answer, but no other request is affected. Errors besides the
  // engine's: Unavailable if the queue is full, InvalidArgument if the request has too many rows (both with TensorFlow
  // Serving's texts), DeadlineExceeded if the deadline has passed or recent runs took longer than the time left, and
  // Cancelled.
  void Submit(engine::RunRequest request, Terms terms, Done done);

  const Options& options() const;

 private:
  std::shared_ptr<QueueState> state_;
  std::shared_ptr<Scheduler> scheduler_;
};

}  // namespace longshore::batching
