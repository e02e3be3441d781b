// Evidence: counts of what each version did on the node that ran it (requests, errors, non-finite answers, run times,
// drift).
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
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "longshore/control.pb.h"

namespace longshore::evidence {

// Counts durations in the buckets of common/base/buckets.h, which the messages to the controller use. Thread-safe
// without locks.
class TimeHistogram {
 public:
  void Count(Duration time);
  Duration sum() const { return Duration(sum_us_.load(std::memory_order_relaxed)); }
  // Copies the buckets, without the empty ones at the end.
  void CopyTo(google::protobuf::RepeatedField<int64_t>* buckets) const;

 private:
  static constexpr int kBuckets = 241;  // The last one (up to 2^30 us, 18 minutes) also counts all longer durations.
  std::array<std::atomic<int64_t>, kBuckets> buckets_{};
  std::atomic<int64_t> sum_us_{0};
};

// The difference between the answers of the candidate and of stable to the same input.
struct PairDifference {
  double relative = 0;        // max|a-b| / max(1, max|b|) over the float outputs; 1e6 if they cannot be compared.
  bool top1_changed = false;  // In some row, the two answers have their largest values in different columns.
};

// Returns true if a request that ended with this code is evidence about its version: an answer, or a server error
// (INTERNAL, UNKNOWN, DATA_LOSS). Errors that clients or overload cause are not.
bool IsEvidence(Code code);

// The counters of one version.
class Counters {
 public:
  // Counts a finished request, as an error unless the code is kOk. No effect for codes that are not evidence.
  void CountRequest(Code code);
  // Counts a successful run. Call it once per batch.
  void CountRunTime(Duration run_time);
  // Counts an answer with NaN or Inf where stable's answer to the same input is finite.
  void CountNonFinite(TimePoint at);
  void CountPair(const PairDifference& difference);

  int64_t requests() const { return requests_.load(std::memory_order_relaxed); }
  int64_t errors() const { return errors_.load(std::memory_order_relaxed); }
  control::Evidence Snapshot() const;

 private:
  std::atomic<int64_t> requests_{0};
  std::atomic<int64_t> errors_{0};
  std::atomic<int64_t> non_finite_{0};
  std::atomic<int64_t> first_non_finite_unix_ms_{0};
  TimeHistogram run_times_;
  mutable std::mutex mutex_;  // Guards drift_: pairs are few.
  control::DriftEvidence drift_;
};

// The counters of all versions of the node, and those of the node itself. Thread-safe.
class Recorder {
 public:
  // The maximum number of versions with their own counters. Above it, versions whose counters are not in use are
  // removed; if all are in use, further versions share one set of counters.
  static constexpr size_t kVersionsMax = 4096;

  // Returns the counters of the version; returns the same object while it is in use. Takes a lock.
  std::shared_ptr<Counters> For(const std::string& model, int64_t version);
  control::Evidence Snapshot(const std::string& model, int64_t version) const;

  void CountReceived() { received_.fetch_add(1, std::memory_order_relaxed); }
  void CountForwarded() { forwarded_.fetch_add(1, std::memory_order_relaxed); }
  void CountAnswered(Duration from_arrival) { total_times_.Count(from_arrival); }
  // The answer times of one model, for models with a latency objective. While a caller holds the object, further calls
  // for the model return the same one, and AddTo reports it. Takes a lock.
  std::shared_ptr<TimeHistogram> TimesOf(const std::string& model);
  // Sets received, forwarded, total_time_buckets and models; the admission and the frontend set the other fields.
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
