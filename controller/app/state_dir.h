// The directory of a controller on one host (--state_dir).
#pragma once

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/os/process/descriptors.h"

namespace longshore::app {

// Creates the directory if it does not exist, and locks it. A controller holds the lock until it is destroyed. If its
// process crashes, the kernel releases the lock. Returns FailedPrecondition if another process holds it.
Result<process::Descriptor> LockStateDir(const Path& state_dir);

// Returns an error unless a controller has used this directory before.
Status CheckStateDir(const Path& state_dir);

// Stores which directory of manifests the controller of the state directory reads.
Status RecordManifests(const Path& state_dir, const Path& manifests);
// Returns what RecordManifests has stored last; "" if nothing was stored.
Path RecordedManifests(const Path& state_dir);

}  // namespace longshore::app
