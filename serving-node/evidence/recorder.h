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

// The difference between the answers of the candidate and of stable to the same input.
struct PairDifference {
  // max|a-b| / max(1, max|b|) over the float outputs, where a is the candidate's and b stable's; 1e6 if not comparable.
  double relative = 0;
  // True if, in some row, the two answers have their largest values in different columns.
  bool top1_changed = false;
};

// Returns true if a request that ended with this code is evidence about its version: if it was answered, or failed
// because of the server (INTERNAL, UNKNOWN, DATA_LOSS). Errors because of the client or of overload are not evidence.
bool IsEvidence(Code code);

// The counters of one version.
class Counters {
 public:
  // Counts a request that has ended; also counts it as an error unless the code is kOk. Does nothing if the code is not
  // evidence.
  void CountRequest(Code code);
  // Counts the time of a successful run. Call it once per batch.
  void CountRunTime(Duration run_time);
  // Counts an answer that has NaN or Inf. Call it only if stable's answer to the same input is finite, or if stable
  // could not be asked.
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
  // Guards drift_. A mutex is fast enough, because there are few pairs.
  mutable std::mutex mutex_;
  control::DriftEvidence drift_;
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
