// Counts the requests that each version answered or failed on this node, and their times. The statistics of the Open
// Inference Protocol come from here.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "common/base/clock.h"
#include "serving-node/batching/batching.h"

namespace longshore::routing {

struct TotalTime {
  uint64_t count = 0;
  std::chrono::nanoseconds time{0};

  void Add(std::chrono::nanoseconds took) {
    ++count;
    time += took;
  }
};

struct VersionStatistics {
  TotalTime success;                       // Requests, from the choice of the version to the end of the run.
  TotalTime fail;                          // The same for requests that failed.
  TotalTime queue;                         // The time that successful requests waited.
  TotalTime run;                           // The run times of successful requests; requests of one batch have the same.
  uint64_t rows = 0;                       // Of all successful requests.
  uint64_t runs = 0;                       // All requests of a batch share one.
  uint64_t last_success_ms = 0;            // Since 1970.
  std::map<int64_t, TotalTime> by_rows{};  // The runs with this many rows.
};

// Thread-safe.
class RunStatistics {
 public:
  // How many sizes of batches are counted apart. Runs of further sizes are counted only in the totals.
  static constexpr size_t kBatchSizesMax = 64;

  // One request that ended.
  struct Request {
    const std::string& model;
    int64_t version;
    int64_t rows;                         // 1 if its inputs have no rows.
    std::chrono::nanoseconds took;        // From the choice of the version to the end of the run.
    const batching::RunOutcome* outcome;  // Null if the request failed.
    TimePoint now;
  };
  void Record(const Request& request);

  // Returns zeros for a version that has no requests yet.
  VersionStatistics Of(const std::string& model, int64_t version) const;

  // Call it when a version has been unloaded.
  void Forget(const std::string& model, int64_t version);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::map<int64_t, VersionStatistics>> models_;
};

}  // namespace longshore::routing
