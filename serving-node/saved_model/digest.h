// What identifies a version's files, wherever they lie.
#pragma once

#include <string>

#include "common/error.h"
#include "common/file.h"

namespace longshore::saved_model {

inline constexpr size_t kVersionFilesMax = 100'000;

// SHA-256, in lower-case hex, over every regular file below the directory in the order of their relative names: for
// each its name's length and name, its size, its bytes (lengths as u64, little-endian). Directories, times and owners
// do not count. NotFound when the directory is not there; FailedPrecondition when it holds no file or a file changes
// its size meanwhile; ResourceExhausted above kVersionFilesMax files.
Result<std::string> VersionDigest(const Path& version_dir);

}  // namespace longshore::saved_model
