// Drift: a sample of the candidate's requests runs again on stable, later and one at a time, and the two answers are
// compared.
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

// True when a float output holds NaN or Inf. A pass over the bytes that compilers turn into vector code.
bool HasNonFinite(const engine::TensorMap& outputs);

// How far `candidate` is from `stable`: see PairDifference. Outputs that only one of them has count as
// far apart.
PairDifference Compare(const engine::TensorMap& candidate, const engine::TensorMap& stable);

// Every n-th of a stream so that the share is exact: Sampled(i, 0.25) is true for one of four consecutive i.
bool Sampled(uint64_t i, double share);

struct Replay {
  engine::TensorMap candidate_outputs;
  // Runs the same input on stable, and keeps what it needs. Called on the sampler's thread.
  std::function<Result<engine::TensorMap>()> run_stable;
  std::shared_ptr<Counters> counters;  // Of the candidate.
};

// A bounded queue and one thread, so that replays take at most one run slot from users. Thread-safe.
class DriftSampler {
 public:
  explicit DriftSampler(size_t waiting_max = 64);
  ~DriftSampler();  // Drops what waits.
  DriftSampler(const DriftSampler&) = delete;
  DriftSampler& operator=(const DriftSampler&) = delete;

  // Drops the replay when the queue is full: a sample may be smaller, users may not wait for it.
  void Offer(Replay replay);
  // Waits until nothing waits or runs.
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
