// Files, the only way the programs read and write them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "common/error.h"

namespace longshore {

using Path = std::filesystem::path;

inline constexpr size_t kFileBytesMax = size_t{8} << 30;

// The whole file. NotFound when it is not there; ResourceExhausted above bytes_max.
Result<std::string> ReadFile(const Path& path, size_t bytes_max = kFileBytesMax);

// Replaces the file so that after a crash or a full disk either the old or the new content is there, never a part:
// written beside it, flushed to the disk, renamed over it. ResourceExhausted when the disk is full.
Status WriteFileAtomically(const Path& path, std::string_view bytes, mode_t mode = 0644);

}  // namespace longshore
