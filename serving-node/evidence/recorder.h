// Evidence: counts of what each version did on the node that ran it (requests, errors, non-finite answers, run times,
// pairs, overload).
//
// Counters never decrease while the process lives; the controller computes differences. Counting takes no lock: the
// router keeps a version's Counters and adds to them from any thread. Times are in microseconds.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "longshore/control.pb.h"
#include "serving-node/evidence/bins.h"
#include "serving-node/evidence/worst_pairs.h"

namespace longshore::evidence {

// Counts durations in the buckets that common/base/buckets.h defines and that messages to the controller use.
// Thread-safe without locks.
class TimeHistogram {
 public:
  void Count(Duration time);
  Duration sum() const { return Duration(sum_us_.load(std::memory_order_relaxed)); }
  // Copies the buckets, without the empty ones at the end.
  void CopyTo(google::protobuf::RepeatedField<int64_t>* buckets) const;

 private:
  // The last bucket (up to 2^30 us, 18 minutes) also counts all longer durations.
  static constexpr int kBuckets = 241;
  std::array<std::atomic<int64_t>, kBuckets> buckets_{};
  std::atomic<int64_t> sum_us_{0};
};

// Counts run times by the size of the run. Thread-safe without locks.
class RunTimes {
 public:
  ~RunTimes();
  // `rows`: the rows of the run with padding; 0 if it was not batched.
  void Count(Duration time, int rows);
  // Sets run_time_buckets, run_time_sum_us and run_times_of_rows.
  void CopyTo(control::Evidence* evidence) const;

 private:
  // Index 0: not batched; index i: up to 2^(i-1) rows. The last one also counts larger runs.
  static constexpr size_t kSizes = 17;
  std::array<std::atomic<TimeHistogram*>, kSizes> of_size_{};  // Created when needed, because most versions have few.
};

// The output in which the answers of a pair differ most. It has no values.
struct OutputDifference {
  std::string output;          // Its name.
  std::string candidate_type;  // See engine::TypeText; "" if the answer does not have the output.
  std::string stable_type;
  double relative = 0;               // From 0 to 1; see Distances in distances.h. 1 if they are not comparable.
  std::optional<double> absolute{};  // nullopt if the outputs are not numbers, or differ in a NaN or Inf.
};

// The difference between the answers of the candidate and of stable to the same input.
struct PairDifference {
  // max|a-b| / max(1, max|b|) over the float outputs, where a is the candidate's and b stable's; 1e6 if not comparable.
  // Equal infinities, and NaN in both, are left out.
  double relative = 0;
  // Whether `relative` is of any output; false if the answers have only equal shapes of integers and strings.
  bool is_measured = false;
  // True if, in some row, the two answers have their largest values in different columns.
  bool top1_changed = false;
  std::optional<OutputDifference> largest{};  // Whatever the rules say; nullopt if all outputs are equal.
};

// What an output rule (agreement.h) found in one pair.
struct OutputOutcome {
  std::string rule;      // As text.
  std::string output;    // Its name.
  bool counted = false;  // False if the rule could not compare the answers, for example because it names no output.
  bool differs = false;  // The candidate differs from stable.
  bool noise = false;    // Stable differs from itself in another run.
  double severity = 0;   // If only the candidate differs: how far, from 0 to 1; see SeverityOf in agreement.h.

  bool only_candidate_differs() const { return differs && !noise; }
};

// A run of a pair.
struct RunOutcome {
  Code code = Code::kOk;
  std::chrono::microseconds time{0};  // 0 if it failed.
};

// The result of running one input on both versions. `ratio`, `difference`, `outputs` and `mismatch` are only set if
// both answered.
struct PairOutcome {
  enum class Kind { kBothAnswered, kCandidateFailed, kStableFailed, kBothFailed };
  Kind kind = Kind::kBothAnswered;
  double ratio = 1;  // The run time of the candidate divided by that of stable.
  PairDifference difference{};
  std::vector<OutputOutcome> outputs{};  // One per output rule.
  std::string mismatch{};                // See Mismatch in agreement.h; "" if there is none.
  RunOutcome candidate{};
  RunOutcome stable{};
  bool candidate_non_finite = false;  // The candidate failed because its answer has NaN or Inf.
};

// Why a sampled request was not run as a pair.
enum class PairDrop { kBusy, kBudget, kQueue };

// Returns true if a request that ended with this code is evidence about its version: if it was answered, or failed
// because of the server (INTERNAL, UNKNOWN, DATA_LOSS). Errors because of the client or of overload are not evidence.
bool IsEvidence(Code code);

// Returns true if a run that ended with this code says nothing about its version, because the run got no slot or no
// memory, was given up, or the version was unloaded: UNAVAILABLE, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, CANCELLED.
bool IsTooBusy(Code code);

// The counters of one version.
class Counters {
 public:
  // The maximum number of output rules whose counts are remembered, and of bytes of the first mismatch.
  static constexpr size_t kRulesMax = 256;
  static constexpr size_t kMismatchBytesMax = 500;

  // Counts a request that has ended; also counts it as an error unless the code is kOk. Does nothing if the code is not
  // evidence.
  void CountRequest(Code code);
  // Counts a request that was not answered because of load (Evidence.overloaded).
  void CountOverloaded() { overloaded_.fetch_add(1, std::memory_order_relaxed); }
  // Counts the time of a successful run that did not plan for new shapes. Call it once per batch. `rows` as in
  // RunTimes.
  void CountRunTime(Duration run_time, int rows) { run_times_.Count(run_time, rows); }
  // Counts an answer that has NaN or Inf. Call it only if stable's answer to the same input is finite, or if stable
  // could not be asked.
  void CountNonFinite(TimePoint at);
  // Snapshot reports the counts of the output rules of the newest pair, in their order. The counts of a rule that is no
  // longer used are remembered, so that they never decrease when it comes back; above kRulesMax they are forgotten.
  void CountPair(const PairOutcome& outcome);
  void CountDropped(PairDrop why);
  // Snapshot reports the pair if it is one of the worst ones of the rollout with this salt.
  void NoteDifferent(const std::string& salt, control::WorstPair pair);
  // Whether it is one of them now.
  bool WantsDifferent(const std::string& salt, const control::WorstPair& pair) const;
  // Returns the counters by bins of keys for this salt, which Snapshot reports until this is called with another salt.
  // With the salt "", returns nullptr, and bins are reported no longer. Takes a lock.
  std::shared_ptr<Bins> BinsOf(const std::string& salt);

  int64_t requests() const { return requests_.load(std::memory_order_relaxed); }
  int64_t errors() const { return errors_.load(std::memory_order_relaxed); }
  int64_t pairs() const;
  control::Evidence Snapshot() const;

 private:
  void CountDrift(const PairDifference& difference);
  void CountOutputs(const PairOutcome& outcome);

  std::atomic<int64_t> requests_{0};
  std::atomic<int64_t> errors_{0};
  std::atomic<int64_t> non_finite_{0};
  std::atomic<int64_t> first_non_finite_unix_ms_{0};
  std::atomic<int64_t> overloaded_{0};
  RunTimes run_times_;
  // Guards the members below. A mutex is fast enough, because there are few pairs.
  mutable std::mutex mutex_;
  control::DriftEvidence drift_;
  control::PairEvidence pairs_;                             // Without the counts of the output rules.
  std::map<std::string, control::OutputEvidence> outputs_;  // By the text of the rule.
  std::vector<std::string> rules_;                          // Of the newest pair that both answered.
  WorstPairs worst_;
  std::shared_ptr<Bins> bins_;
};

// The counters of all versions on the node, and those of the node itself. Thread-safe.
class Recorder {
 public:
  // The maximum number of versions with counters of their own. When it is reached, the counters that nobody uses are
  // removed. If all are in use, further versions share one set of counters.
  static constexpr size_t kVersionsMax = 4096;

  // Returns the counters of the version, the same object as long as somebody uses it. Takes a lock.
  std::shared_ptr<Counters> For(const std::string& model, int64_t version);
  control::Evidence Snapshot(const std::string& model, int64_t version) const;

  void CountReceived() { received_.fetch_add(1, std::memory_order_relaxed); }
  void CountForwarded() { forwarded_.fetch_add(1, std::memory_order_relaxed); }
  void CountAnswered(Duration from_arrival) { total_times_.Count(from_arrival); }
  // Returns the histogram of the answer times of one model, for models with a latency objective. While a caller holds
  // the object, further calls for the model return the same one, and AddTo reports it. Takes a lock.
  std::shared_ptr<TimeHistogram> TimesOf(const std::string& model);
  // Sets the fields received, forwarded, total_time_buckets and models. The admission and the frontend set the other
  // fields.
  void AddTo(control::NodeLoad* load) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int64_t>, std::shared_ptr<Counters>> versions_;
  std::map<std::string, std::weak_ptr<TimeHistogram>> times_of_models_;
  std::shared_ptr<Counters> others_ = std::make_shared<Counters>();
  std::atomic<int64_t> received_{0};
  std::atomic<int64_t> forwarded_{0};
  TimeHistogram total_times_;
};

}  // namespace longshore::evidence
