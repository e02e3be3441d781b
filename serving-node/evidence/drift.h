// Drift: how much the answers of a candidate differ from those of stable. A sample of the candidate's requests runs a
// second time on stable, later and one at a time, and the two answers are compared.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "serving-node/engine/engine.h"
#include "serving-node/evidence/recorder.h"

namespace longshore::evidence {

// Returns true if a floating-point output holds NaN or Inf. The check is one vectorized pass over the values.
bool HasNonFinite(const engine::TensorMap& outputs);

// Returns how much the outputs of `candidate` differ from those of `stable` (see PairDifference). If only one of them
// has an output, that counts as the largest difference.
PairDifference Compare(const engine::TensorMap& candidate, const engine::TensorMap& stable);

// Selects an exact share of a sequence: for example, Sampled(i, 0.25) is true for one of any four consecutive i.
bool Sampled(uint64_t i, double share);

struct Replay {
  engine::TensorMap candidate_outputs;
  // Runs the same input on stable. The function must own everything that it uses. The sampler's thread calls it.
  std::function<Result<engine::TensorMap>()> run_stable;
  std::shared_ptr<Counters> counters;  // The counters of the candidate.
};

// Runs replays and compares their outputs. Has a bounded queue and one thread, so that replays use at most one run
// slot. Thread-safe.
class DriftSampler {
 public:
  explicit DriftSampler(size_t waiting_max = 64);
  ~DriftSampler();  // Drops the waiting replays.
  DriftSampler(const DriftSampler&) = delete;
  DriftSampler& operator=(const DriftSampler&) = delete;

  // Adds a replay to the queue. Drops it if the queue is full, so that requests never wait for the sampler.
  void Offer(Replay replay);
  // Blocks until no replay is waiting or running.
  void Drain();

 private:
  void Loop();

  const size_t waiting_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Replay> waiting_;
  bool running_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace longshore::evidence
