// Pairs: a sample of the requests is run on both versions afresh, one run after the other, and the two runs are
// compared.
//
// Both runs of a pair have the same input, the same number of rows and the same node, and the order alternates from
// pair to pair. Before them, both versions run the input once without being measured, so that the version with more
// requests does not profit from warmer caches. By these first runs, stable is also compared with itself: what differs
// there, too, is the noise of its outputs. Which version the request was assigned to, and what became of it there,
// makes no difference to the pair. Therefore pairs compare the versions fairly even if users are assigned instead of
// requests, or if batches differ.
//
// Pairs run one at a time on a thread of their own, within a budget. A pair that cannot run soon is dropped.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "serving-node/engine/engine.h"
#include "serving-node/evidence/agreement.h"
#include "serving-node/evidence/recorder.h"

namespace longshore::evidence {

// Limits the run time of pairs to a share of the node's slot time. Not thread-safe; no clock: time is an argument.
class PairBudget {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;
  static constexpr std::chrono::seconds kWindow{10};

  // Returns true if a pair may begin that likely takes `expected`. `slots`: the part of the node's slots that pairs may
  // use, such as 0.4 for 10 % of 4 slots. The times of all pairs that end within any kWindow add up to at most
  // slots * kWindow, plus the time by which the last one takes longer than expected. A pair that is longer than that
  // may begin after no pair has run for expected / slots.
  bool Allows(Duration expected, double slots, TimePoint now);
  void Spend(Duration took, TimePoint ended);

 private:
  static constexpr size_t kCells = 64;  // The window is counted in cells of kWindow / kCells.
  void Forget(TimePoint now);

  std::array<Duration, kCells + 1> cells_{};
  int64_t newest_cell_ = 0;
  Duration used_{0};
  TimePoint last_end_ = TimePoint::min();
};

enum class Side { kCandidate, kStable };

struct PairedRun {
  engine::TensorMap outputs;
  std::chrono::nanoseconds run_time{0};
  bool planned = false;  // See engine::RunResult.
};

// What a pair needs. The functions must own everything that they use, or outlive Clear.
struct Pair {
  // Runs the input on one version and waits for the result. The codes of IsTooBusy (recorder.h) drop the pair. All
  // other errors are failures of the version.
  std::function<Result<PairedRun>(Side)> run;
  std::function<void(const PairOutcome&)> counted;
  // How the outputs are compared, and stable's signature. Null: without rules.
  std::shared_ptr<const OutputRules> rules = nullptr;
  tensorflow::SignatureDef signature{};
};

// What must be known to accept a pair.
struct PairTerms {
  size_t bytes = 0;                      // The memory that the pair needs while it waits.
  std::chrono::nanoseconds expected{0};  // The likely time of all four runs; 0: unknown.
  double slots = 0;                      // As for PairBudget::Allows.
  bool reject_non_finite = false;        // An answer with NaN or Inf is a failure.
  std::shared_ptr<Counters> counters;    // The counters of the candidate.
  std::function<void(PairDrop)> dropped;
};

// Thread-safe.
class PairRunner {
 public:
  struct Options {
    size_t waiting_max = 64;
    size_t bytes_max = size_t{64} << 20;  // Of all waiting pairs together. Both limits include the pair that runs.
    std::function<PairBudget::TimePoint()> now = [] { return std::chrono::steady_clock::now(); };
  };

  PairRunner();
  explicit PairRunner(Options options);
  ~PairRunner();  // Drops the waiting pairs.
  PairRunner(const PairRunner&) = delete;
  PairRunner& operator=(const PairRunner&) = delete;

  // Queues the pair that `make` returns, or drops it without calling `make` if the limits or the budget do not suffice.
  // Does not wait for runs.
  void Offer(PairTerms terms, const std::function<Pair()>& make);
  // Blocks until no pair is waiting or running.
  void Drain();
  // Drops the waiting pairs without counting them, and blocks until the current one has ended.
  void Clear();
  size_t waiting() const;

 private:
  struct Waiting {
    PairTerms terms;
    Pair pair;
  };
  void Loop();
  void Run(const Waiting& waiting);
  Result<PairedRun> RunSide(const Waiting& waiting, Side side);
  static void Drop(const PairTerms& terms, PairDrop why);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  PairBudget budget_;
  std::deque<Waiting> waiting_;
  size_t accepted_ = 0;  // Pairs that wait or run, or are about to wait, and their bytes.
  size_t accepted_bytes_ = 0;
  bool running_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace longshore::evidence
