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

// Replaces the file: writes a temporary file in the same folder, flushes it, renames it, and flushes the folder. After
// a crash or an error the file has either the old content or the new content, never a part.
//
// Errors: ResourceExhausted if the disk is full. If the last step fails (Unavailable, "cannot flush"), the new content
// can be read, but a crash may bring the old content back.
Status WriteFileAtomically(const Path& path, std::string_view bytes, mode_t mode = 0644);

}  // namespace longshore
