// The lock file by which the controller of a directory of manifests shows that it is running:
// <dir>/.longshore/controller.lock.
//
// The controller holds a lock on the file while it lives; the kernel releases the lock however the process ends. The
// file's text is {"pid", "epoch", "state_dir", "console", "problem"}, and its modification time is the last time at
// which the reconcile loop was active. The text is padded with spaces, and overwritten in place, so that it can be
// changed while the disk is full. Readers test the lock without taking it, so they never prevent a controller from
// starting.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "common/json/json.h"
#include "common/os/process/descriptors.h"

namespace longshore::store::local {

// Not thread-safe.
class ControllerLock {
 public:
  // Returns FailedPrecondition if another controller holds the lock of this directory.
  static Result<ControllerLock> Take(const Path& dir);

  // Writes the pid of this process, the lowest epoch of the statuses that it will write, the directory with the logs of
  // its nodes, and the URL of its web console, "" without one. Keeps the time of the last activity, which an earlier
  // controller recorded.
  Status Describe(int64_t epoch, const Path& state_dir, const std::string& console = "");

  // Adds to the description why the controller cannot write its objects; "": it can.
  Status SetProblem(const std::string& problem);

  // Sets the time of the last activity to now.
  Status RecordActivity();

 private:
  explicit ControllerLock(process::Descriptor file) : file_(std::move(file)) {}
  Status Write();

  process::Descriptor file_;
  Json description_ = Json::object();
};

struct ControllerLockState {
  bool is_running = false;
  pid_t pid = 0;               // 0: not known.
  int64_t epoch = 0;           // Statuses with a lower epoch are older than the running controller.
  std::string console{};       // The URL of its web console; "" without one.
  std::string problem{};       // Why it cannot write its objects; "": it can.
  Path state_dir{};            // That of the newest controller; "": not known.
  TimePoint last_active_at{};  // The last time at which a controller was active; TimePoint{}: never.
};

// Reads the state of the lock file. If the file does not exist, the result says that no controller runs or has ever
// been active.
Result<ControllerLockState> ReadControllerLock(const Path& dir);

}  // namespace longshore::store::local
