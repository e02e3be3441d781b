// Records what each graph node does in the next runs on this serving node.
//
//   RETURN_IF_ERROR(recorder.Start({.model = "digits", .runs = 20}));
//   ... the recording ends by itself after 20 runs or 30 seconds ...
//   const std::string trace = ToTrace(*recorder.recording());
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "serving-node/observe/profiling/recording.h"

namespace longshore::profiling {

// Thread-safe. There is one recording at a time; it is kept until the next one begins. The recorder must outlive its
// watches.
class Recorder {
 public:
  Recorder(const Clock& clock, const MonotonicClock& timer) : clock_(clock), timer_(timer) {}

  // Starts a recording. Returns FailedPrecondition while another one is in progress. A recording is in progress until
  // all its runs have ended, but at most until kGrace after the requested time. Returns the id of the recording.
  Result<int64_t> Start(const RecordingRequest& wanted);
  // Ends the requested time of this recording now. Does nothing if another recording was started since.
  void Stop(int64_t id);
  // Returns the current or last recording; nullopt if none was started.
  std::optional<Recording> recording() const;

  std::shared_ptr<batching::RunWatch> WatchOf(const std::string& model, int64_t version);

 private:
  class Watch;
  struct ActiveRecording;
  struct ActiveRun;
  std::shared_ptr<batching::WatchedRun> Begin(const std::string& model, int64_t version);
  void Ended(const std::shared_ptr<batching::WatchedRun>& run);

  const Clock& clock_;
  const MonotonicClock& timer_;
  std::atomic<bool> accepts_runs_ = false;  // The only check that a run makes while there is no recording.
  mutable std::mutex mutex_;
  int64_t last_id_ = 0;
  std::shared_ptr<ActiveRecording> active_;
};

}  // namespace longshore::profiling
