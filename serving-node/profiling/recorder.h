// Records what each node of a graph does in the next runs of a node that serves.
//
//   RETURN_IF_ERROR(recorder.Start({.model = "digits", .runs = 20}));
//   ... 20 runs, or 30 seconds, later it has ended by itself ...
//   const std::string trace = ToTrace(*recorder.recording());
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "serving-node/profiling/recording.h"

namespace longshore::profiling {

// Thread-safe. One recording at a time, which stays until the next one begins. Outlives its watches.
class Recorder {
 public:
  Recorder(const Clock& clock, const MonotonicClock& timer) : clock_(clock), timer_(timer) {}

  // FailedPrecondition while another one is under way: until its runs have ended, and for no longer than kGrace after
  // its time.
  Status Start(const Wanted& wanted);
  // What there is by now; nullopt: nothing was started yet.
  std::optional<Recording> recording() const;

  std::shared_ptr<batching::RunWatch> WatchOf(const std::string& model, int64_t version);

 private:
  class Watch;
  struct Taking;
  struct TakenRun;
  std::shared_ptr<batching::WatchedRun> Begin(const std::string& model, int64_t version);
  void Ended(const std::shared_ptr<batching::WatchedRun>& run);

  const Clock& clock_;
  const MonotonicClock& timer_;
  std::atomic<bool> takes_runs_ = false;  // All that a run looks at while nothing is recorded.
  mutable std::mutex mutex_;
  int64_t last_id_ = 0;
  std::shared_ptr<Taking> taking_;
};

}  // namespace longshore::profiling
