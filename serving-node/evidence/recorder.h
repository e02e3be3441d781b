// What versions did on this node, counted where they ran: requests, faults, non-finite answers, run times, drift.
//
// Counters only grow while the process lives; the controller takes differences. Counting takes no lock: the router
// keeps a version's Counters and adds to them from any thread. Times are microseconds.
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

#include "common/clock.h"
#include "common/error.h"
#include "longshore/control.pb.h"

namespace longshore::evidence {

// Counts of times in the buckets of common/buckets.h, as the messages have them. Thread-safe without locks.
class TimeHistogram {
 public:
  void Count(Duration time);
  Duration sum() const { return Duration(sum_us_.load(std::memory_order_relaxed)); }
  // Without the empty buckets after the last one that counted something.
  void CopyTo(google::protobuf::RepeatedField<int64_t>* buckets) const;

 private:
  static constexpr int kBuckets = 241;  // The last one, up to 2^30 us (18 minutes), counts all that is longer too.
  std::array<std::atomic<int64_t>, kBuckets> buckets_{};
  std::atomic<int64_t> sum_us_{0};
};

// One paired replay of an input: how far the candidate's answer is from stable's.
struct PairDifference {
  double relative = 0;        // max|a-b| / max(1, max|b|) over the float outputs; 1e6 when they cannot be compared.
  bool top1_changed = false;  // The largest column of a row is another one.
};

// Whether a request that ended with this code says something about its version: an answer does, or a fault of the
// server (INTERNAL, UNKNOWN, DATA_LOSS). What the client or the load did wrong does not.
bool IsEvidence(Code code);

// One version's counters.
class Counters {
 public:
  // A request that ended, an error unless the code is kOk. Nothing for codes that are no evidence.
  void CountRequest(Code code);
  // A run that gave an answer; requests that ran in one batch had one run.
  void CountRunTime(Duration run_time);
  // An answer with NaN or Inf where stable was finite on the same input.
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

// All versions of the node, and what the node itself did. Thread-safe.
class Recorder {
 public:
  // How many versions are told apart. Before there are more, those are forgotten whose counters nobody holds; where all
  // are held, those beyond share one set of counters.
  static constexpr size_t kVersionsMax = 4096;

  // The same counters for the same version as long as somebody holds them. Takes a lock.
  std::shared_ptr<Counters> For(const std::string& model, int64_t version);
  control::Evidence Snapshot(const std::string& model, int64_t version) const;

  void CountReceived() { received_.fetch_add(1, std::memory_order_relaxed); }
  void CountForwarded() { forwarded_.fetch_add(1, std::memory_order_relaxed); }
  void CountAnswered(Duration from_arrival) { total_times_.Count(from_arrival); }
  // Fills received, forwarded and total_time_buckets; the other fields are the admission's and the frontend's.
  void AddTo(control::NodeLoad* load) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int64_t>, std::shared_ptr<Counters>> versions_;
  std::shared_ptr<Counters> others_ = std::make_shared<Counters>();
  std::atomic<int64_t> received_{0};
  std::atomic<int64_t> forwarded_{0};
  TimeHistogram total_times_;
};

}  // namespace longshore::evidence
