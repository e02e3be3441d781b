// Identifies the files of a version, independently of their location.
#pragma once

#include <atomic>
#include <string>

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore::version_files {

inline constexpr size_t kVersionFilesMax = 100'000;

// The SHA-256, in lower-case hex, over all regular files below the directory in the order of their relative names. It
// covers for each file: the length of its name, its name, its size, its bytes (lengths and sizes as u64,
// little-endian). Directories, times and owners do not count. NotFound if the directory does not exist;
// FailedPrecondition if it has no files, or if a file changes its size meanwhile; ResourceExhausted above
// kVersionFilesMax files. Reading gigabytes takes long: Cancelled as soon as `*cancelled` is true.
Result<std::string> VersionDigest(const Path& version_dir, const std::atomic<bool>* cancelled = nullptr);

// The same for a single file: covers its size and its bytes.
Result<std::string> FileDigest(const Path& file, const std::atomic<bool>* cancelled = nullptr);

}  // namespace longshore::version_files
