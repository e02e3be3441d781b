// The files of a version as a whole: what they look like, how many bytes they are, and that the system need not keep
// them.
#pragma once

#include <cstdint>
#include <string>

#include "common/error.h"
#include "common/file.h"

namespace longshore::models {

struct FileState {
  std::string files;  // Differs whenever a file below the directory was written, added or removed.
  int64_t newest_change_ns = 0;
  int64_t bytes = 0;  // Of all files.
};

// Unavailable when the directory changes meanwhile or cannot be read, ResourceExhausted for too many files.
Result<FileState> LookAt(const Path& version_dir);

// Tells the system that the version's files will not be read again soon, so that its cache is for others. What cannot
// be dropped stays.
void FlushFromCache(const Path& version_dir);

}  // namespace longshore::models
