#include "serving-node/evidence/pairs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "common/base/mix.h"
#include "serving-node/evidence/drift.h"

namespace longshore::evidence {
namespace {

using Kind = PairOutcome::Kind;

// The runs of one input on both versions.
struct Runs {
  Result<PairedRun> candidate;
  Result<PairedRun> stable;
  std::optional<engine::TensorMap> stable_before{};  // The outputs of stable's run before; nullopt if it failed.

  bool planned() const { return (candidate && candidate->planned) || (stable && stable->planned); }
};

bool IsDropped(const Result<PairedRun>& run) { return !run && IsTooBusy(run.error().code); }

std::optional<engine::TensorMap> TakeOutputs(Result<PairedRun>& run) {
  return run ? std::optional(std::move(run->outputs)) : std::nullopt;
}

RunOutcome OutcomeOf(const Result<PairedRun>& run) {
  if (!run) return {.code = run.error().code};
  return {.time = std::chrono::ceil<std::chrono::microseconds>(run->run_time)};
}

PairOutcome OutcomeOf(const Runs& runs, bool reject_non_finite) {
  const auto is_non_finite = [&](const auto& run) { return reject_non_finite && run && HasNonFinite(run->outputs); };
  const bool non_finite = is_non_finite(runs.candidate);
  const bool candidate = runs.candidate && !non_finite;
  const bool stable = runs.stable && !is_non_finite(runs.stable);
  if (!candidate && !stable) return {.kind = Kind::kBothFailed};
  if (!candidate) return {.kind = Kind::kCandidateFailed, .candidate_non_finite = non_finite};
  if (!stable) return {.kind = Kind::kStableFailed};
  const auto nanoseconds = [](const auto& run) {
    return std::max<double>(1, static_cast<double>(run->run_time.count()));
  };
  return {.kind = Kind::kBothAnswered,
          .ratio = nanoseconds(runs.candidate) / nanoseconds(runs.stable),
          .difference = Compare(runs.candidate->outputs, runs.stable->outputs)};
}

// Requires: both answered.
//
// The row is chosen by the number of the pair alone. Neither the input nor the outputs have an influence on it, so the
// share of pairs that differ is an unbiased estimate of the share of rows that do.
void CompareAnswers(const Runs& runs, const Pair& pair, int64_t number, PairOutcome* outcome) {
  const engine::TensorMap& candidate = runs.candidate->outputs;
  const engine::TensorMap& stable = runs.stable->outputs;
  outcome->mismatch = Mismatch(candidate, stable, pair.signature);
  if (pair.rules == nullptr) return;
  const Answers answers{candidate, stable, runs.stable_before ? &*runs.stable_before : nullptr};
  outcome->outputs = CompareOutputs(*pair.rules, answers, Scatter64(static_cast<uint64_t>(number)));
}

}  // namespace

// A cell counts until all of it has left the window, so the used time is never underestimated.
void PairBudget::Forget(TimePoint now) {
  const int64_t cell = now.time_since_epoch() / (Duration(kWindow) / kCells);
  for (int64_t at = std::max(newest_cell_ + 1, cell - static_cast<int64_t>(kCells)); at <= cell; ++at) {
    used_ -= std::exchange(cells_[static_cast<size_t>(at) % cells_.size()], Duration(0));
  }
  newest_cell_ = std::max(newest_cell_, cell);
}

bool PairBudget::Allows(Duration expected, double slots, TimePoint now) {
  Forget(now);
  const auto time = std::chrono::duration_cast<Duration>(slots * std::chrono::duration<double>(kWindow));
  if (expected <= time) return used_ + expected <= time && used_ < time;
  return slots > 0 &&
         (last_end_ == TimePoint::min() || std::chrono::duration<double>(now - last_end_) * slots >= expected);
}

void PairBudget::Spend(Duration took, TimePoint ended) {
  Forget(ended);
  cells_[static_cast<size_t>(newest_cell_) % cells_.size()] += took;
  used_ += took;
  last_end_ = ended;
}

PairRunner::PairRunner() : PairRunner(Options()) {}

PairRunner::PairRunner(Options options) : options_(std::move(options)), thread_([this] { Loop(); }) {}

PairRunner::~PairRunner() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

void PairRunner::Drop(const PairTerms& terms, PairDrop why) {
  terms.counters->CountDropped(why);
  terms.dropped(why);
}

void PairRunner::Offer(PairTerms terms, const std::function<Pair()>& make) {
  std::optional<PairDrop> why;
  {
    const std::lock_guard lock(mutex_);
    const bool has_room = accepted_ < options_.waiting_max && terms.bytes <= options_.bytes_max - accepted_bytes_;
    if (!has_room) why = PairDrop::kQueue;
    if (has_room && !budget_.Allows(terms.expected, terms.slots, options_.now())) why = PairDrop::kBudget;
    if (!why) {
      accepted_ += 1;
      accepted_bytes_ += terms.bytes;
    }
  }
  if (why) return Drop(terms, *why);
  Waiting waiting{std::move(terms), make()};
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(waiting));
  }
  changed_.notify_all();
}

void PairRunner::Drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !running_; });
}

void PairRunner::Clear() {
  {
    std::deque<Waiting> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(waiting_);
    accepted_ -= dropped.size();
    for (const Waiting& one : dropped) accepted_bytes_ -= one.terms.bytes;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !running_; });
}

size_t PairRunner::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

void PairRunner::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    Waiting waiting = std::move(waiting_.front());
    waiting_.pop_front();
    running_ = true;
    const bool allowed = budget_.Allows(waiting.terms.expected, waiting.terms.slots, options_.now());
    lock.unlock();
    allowed ? Run(waiting) : Drop(waiting.terms, PairDrop::kBudget);
    const size_t bytes = waiting.terms.bytes;
    waiting = {};
    lock.lock();
    accepted_ -= 1;
    accepted_bytes_ -= bytes;
    running_ = false;
    changed_.notify_all();
  }
}

Result<PairedRun> PairRunner::RunSide(const Waiting& waiting, Side side) {
  const auto began = options_.now();
  auto run = waiting.pair.run(side);
  if (IsDropped(run)) return run;
  const auto ended = options_.now();
  const std::lock_guard lock(mutex_);
  budget_.Spend(run ? run->run_time : ended - began, ended);
  return run;
}

// The order alternates with every pair that is counted. If it alternated with every try, a slow first run could make
// the node busy and so drop pairs of one order more often.
//
// The first round only prepares the second one. Without it, the version that gets more of the requests would find its
// parameters in the caches of the processor more often, and would seem to be faster.
void PairRunner::Run(const Waiting& waiting) {
  const PairTerms& terms = waiting.terms;
  const bool candidate_first = terms.counters->pairs() % 2 == 0;
  std::optional<engine::TensorMap> stable_before;
  // If a run of the second round planned for new shapes, its time says nothing, and there is a third round.
  for (int round = 0; round < 3; ++round) {
    auto first = RunSide(waiting, candidate_first ? Side::kCandidate : Side::kStable);
    if (IsDropped(first)) return Drop(terms, PairDrop::kBusy);
    auto second = RunSide(waiting, candidate_first ? Side::kStable : Side::kCandidate);
    if (IsDropped(second)) return Drop(terms, PairDrop::kBusy);
    if (!candidate_first) std::swap(first, second);
    Runs runs{std::move(first), std::move(second), std::move(stable_before)};
    if (round == 0 || runs.planned()) {
      stable_before = TakeOutputs(runs.stable);
      continue;
    }
    PairOutcome outcome = OutcomeOf(runs, terms.reject_non_finite);
    outcome.candidate = OutcomeOf(runs.candidate);
    outcome.stable = OutcomeOf(runs.stable);
    if (outcome.kind == Kind::kBothAnswered) CompareAnswers(runs, waiting.pair, terms.counters->pairs(), &outcome);
    terms.counters->CountPair(outcome);
    return waiting.pair.counted(outcome);
  }
  Drop(terms, PairDrop::kBusy);
}

}  // namespace longshore::evidence
