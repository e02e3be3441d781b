// Inspects the files of a version: detects changes, adds up sizes, and drops the files from the system's page cache.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore::models {

struct FileState {
  // A text that changes when a file below the directory is written, added or removed. It contains the change times, so
  // if a file is written twice within one tick of the file system's clock, the second write may not change the text.
  std::string files;
  int64_t newest_change_ns = 0;
  int64_t bytes = 0;  // Sum over all regular files.
};

// Returns Unavailable if the directory changes during the call or cannot be read, ResourceExhausted if it has too many
// files.
Result<FileState> InspectFiles(const Path& version_dir);

// Like InspectFiles, but first waits until the last change is 20 ms old, which is more than one tick of the file
// system's clock, so that every later write changes the result. Unavailable if the files change while it waits.
Result<FileState> InspectSettledFiles(const Path& version_dir);

// Asks the system to drop the version's files from its page cache, because they will not be read again soon. Best
// effort.
void FlushFromCache(const Path& version_dir);

}  // namespace longshore::models
