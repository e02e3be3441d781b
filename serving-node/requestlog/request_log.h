// A sample of what clients ask and get, written to files that are at once warm-up files and golden sets.
//
// What a request costs here: nothing without a policy for its model, a copy of itself and of its answer where it is
// sampled, so that what waits is no more than it is counted. All else happens on a thread of its own; what that cannot
// keep up with, or a full disk cannot take, is dropped and counted.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "common/metrics/metrics.h"
#include "common/worker.h"
#include "serving-node/requestlog/record_files.h"
#include "serving-node/routing/predict.h"

namespace longshore::requestlog {

// Of one model.
struct Policy {
  Path prefix;               // Of its files; models with the same prefix share them.
  double sampling_rate = 0;  // 0 to 1: the share of its requests.

  friend bool operator==(const Policy&, const Policy&) = default;
};
using Policies = std::map<std::string, Policy>;  // By model.

struct Options {
  std::string node;  // Its name is in those of the files.
  RecordFileLimits files{};
  size_t waiting_max = 1000;                         // Records that wait to be written.
  size_t waiting_bytes_max = size_t{64} << 20;       // Of them.
  std::chrono::milliseconds pause_on_error{10'000};  // After a failed write, before the next is tried.
};

// Thread-safe.
class RequestLog {
 public:
  RequestLog(Options options, metrics::Registry& registry);
  ~RequestLog();  // Writes what waits.

  // From the next request on. Logs whose policy stays as it is go on in their file.
  void SetPolicies(const Policies& policies);

  // Whether this request is of the sample. Asked once per request.
  bool Samples(const std::string& model);

  // A request, a serialized PredictRequest, that was answered well. Never waits.
  void Offer(std::string request, const routing::PredictAnswer& answer);
  // Waits until what was offered before is written.
  void Flush() { writer_.Flush(); }

 private:
  // A request with its answer, both serialized.
  struct Entry {
    std::string request;
    std::string response;
  };
  struct Target;
  struct Log;
  struct Counts;
  std::shared_ptr<Log> Find(const std::string& model) const;
  void Write(const Log& log, const Entry& entry) const;

  const Options options_;
  const std::shared_ptr<Counts> counts_;  // The registry shows it as long as it lives.
  std::atomic<bool> is_on_{false};
  mutable std::mutex mutex_;  // Guards logs_.
  std::map<std::string, std::shared_ptr<Log>> logs_;
  std::atomic<size_t> waiting_bytes_{0};
  Worker writer_;  // Last: it uses the rest.
};

}  // namespace longshore::requestlog
