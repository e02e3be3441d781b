// The files of a version as a whole: what they look like, how many bytes they are, and that the system need not keep
// them.
#pragma once

#include <cstdint>
#include <string>

#include "common/error.h"
#include "common/file.h"

namespace longshore::models {

struct FileState {
  // Differs when a file below the directory was written, added or removed, as far as the file system's times of change
  // tell: of two writes within one of its ticks the second may not show.
  std::string files;
  int64_t newest_change_ns = 0;
  int64_t bytes = 0;  // Of all files.
};

// Unavailable when the directory changes meanwhile or cannot be read, ResourceExhausted for too many files.
Result<FileState> LookAt(const Path& version_dir);

// The same, when nothing has changed for longer than a tick takes, which it waits for: what is written from now on will
// show. Unavailable when something goes on changing.
Result<FileState> LookAtSettled(const Path& version_dir);

// Tells the system that the version's files will not be read again soon, so that its cache is for others. What cannot
// be dropped stays.
void FlushFromCache(const Path& version_dir);

}  // namespace longshore::models
