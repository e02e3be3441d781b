// Reading and writing whole files. The programs use no other functions for this purpose.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore {

inline constexpr size_t kFileBytesMax = size_t{8} << 30;

// Reads the whole file. Returns NotFound if it does not exist, and ResourceExhausted if it has more than bytes_max
// bytes.
Result<std::string> ReadFile(const Path& path, size_t bytes_max = kFileBytesMax);

// The same, but also reads a pipe or device until its end. For files that a user names: the other end of a pipe may
// keep the caller waiting.
Result<std::string> ReadFileOrPipe(const Path& path, size_t bytes_max);

// Replaces the file: writes a temporary file in the same folder, flushes it, renames it, and flushes the folder. After
// a crash or an error the file has either the old content or the new content, never a mixture.
//
// Returns ResourceExhausted if the disk is full. If only the flush of the folder fails (Unavailable, "cannot flush"),
// the new content can be read, but a crash may bring the old content back.
Status WriteFileAtomically(const Path& path, std::string_view bytes, mode_t mode = 0644);

// The same for an existing file, but follows symbolic links, and keeps the file's mode and owner. Returns an error, and
// changes nothing, if this user may not keep them.
Status ReplaceFileAtomically(const Path& path, std::string_view bytes);

}  // namespace longshore
