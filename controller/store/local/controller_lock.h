// The lock file by which the controller of a directory of manifests shows that it is running:
// <dir>/.longshore/controller.lock.
//
// The controller holds a lock on the file while it lives; the kernel releases the lock however the process ends. The
// file's text is {"pid", "epoch"}, and its modification time is the time of the controller's last look at its objects.
// Readers test the lock without taking it, so they never keep a controller from starting.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "common/clock.h"
#include "common/error.h"
#include "common/file.h"
#include "common/process/descriptors.h"

namespace longshore::store {

// One thread at a time.
class ControllerLock {
 public:
  // FailedPrecondition when another controller holds the lock of this directory.
  static Result<ControllerLock> Take(const Path& dir);

  // Writes the pid of this process and the lowest epoch of the statuses that it will write. Keeps the time of the last
  // look, which was an earlier controller's.
  Status Describe(int64_t epoch);

  // Sets the time of the last look to now.
  Status RecordLook();

 private:
  explicit ControllerLock(process::Descriptor file) : file_(std::move(file)) {}
  Status Write(const std::string& text);

  process::Descriptor file_;
};

struct ControllerSeen {
  bool is_running = false;
  pid_t pid = 0;             // 0: not known.
  int64_t epoch = 0;         // Statuses below it were written before the running controller started.
  TimePoint last_look_at{};  // TimePoint{}: no controller has looked at any object yet.
};

// What the lock file says now. Not running and without a last look when there is no such file.
Result<ControllerSeen> ReadControllerLock(const Path& dir);

}  // namespace longshore::store
