// Writes a sample of the requests and answers of clients to files that can be used as warm-up files and as golden sets.
//
// Cost per request: nothing if its model has no policy; a serialized copy of the request and the answer if it is
// sampled, so that the memory of waiting records is known exactly. A separate thread writes the files. Records are
// dropped and counted if that thread cannot keep up or the disk is full.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "common/metrics/metrics.h"
#include "common/os/worker.h"
#include "common/storage/write_health.h"
#include "serving-node/observe/requestlog/record_files.h"
#include "serving-node/routing/predict.h"

namespace longshore::requestlog {

// The policy of one model.
struct Policy {
  Path prefix;               // The prefix of the file names; models with the same prefix share files.
  double sampling_rate = 0;  // The share of the requests that are logged, 0 to 1.

  friend bool operator==(const Policy&, const Policy&) = default;
};
using Policies = std::map<std::string, Policy>;  // Key: the name of the model.

struct Options {
  std::string node;  // The name of this node, which is part of the file names.
  RecordFileLimits files{};
  size_t waiting_max = 1000;                         // How many records may wait to be written.
  size_t waiting_bytes_max = size_t{64} << 20;       // How many bytes all waiting records together may have.
  std::chrono::milliseconds pause_on_error{10'000};  // The time between a failed write and the next attempt.
};

// Thread-safe.
class RequestLog {
 public:
  RequestLog(Options options, metrics::Registry& registry);
  ~RequestLog();  // Writes the waiting records.

  // Sets the policies for later requests. A model with an unchanged policy continues its file.
  void SetPolicies(const Policies& policies);

  // Returns true if this request belongs to the sample. Call it exactly once per request.
  bool Samples(const std::string& model);

  // Logs a request (the bytes of a PredictRequest) that was answered without an error. Never blocks.
  void Offer(Pieces request, const routing::PredictAnswer& answer);
  // Whether the newest record of each model could be written, or its next one can be.
  const storage::WriteHealth& health() const { return health_; }
  // Tests on the thread that writes whether the records of the models whose newest one failed can be written now.
  void TryAgain();
  // Blocks until everything offered before this call is written.
  void Flush() { writer_.Flush(); }

 private:
  // A request with its answer, both serialized.
  struct Entry {
    Pieces request;
    Pieces response;
  };
  struct Target;
  struct Log;
  struct Counts;
  std::shared_ptr<Log> Find(const std::string& model) const;
  void Write(const Log& log, const Entry& entry);
  void Report(const Log& log, const Status& written);

  const Options options_;
  storage::WriteHealth health_{"request_log"};
  const std::shared_ptr<Counts> counts_;  // Shared with the registry, which may outlive the log.
  std::atomic<bool> is_on_{false};
  mutable std::mutex mutex_;  // Guards logs_.
  std::map<std::string, std::shared_ptr<Log>> logs_;
  std::atomic<size_t> waiting_bytes_{0};
  Worker writer_;  // Declared last: its tasks use the other members.
};

}  // namespace longshore::requestlog
