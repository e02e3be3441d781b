// Unpacks a tar archive, plain or gzipped, into a folder of its own.
#pragma once

#include <cstdint>
#include <functional>

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/sources/tar_reader.h"

namespace longshore::sources {

struct UnpackLimits {
  int64_t entries_max = 100'000;  // The limit for files and folders together.
  // Called before each entry is written, with the total bytes on disk (SizeOnDisk) of the archive up to and including
  // the entry. An error ends the unpacking.
  std::function<Status(int64_t bytes)> reserve;
  std::function<bool()> is_cancelled;
};

// The space on disk for a file of this size: whole blocks.
int64_t SizeOnDisk(int64_t bytes);

// Writes the content of the archive into `folder`, which must be empty. Nothing outside of the folder is touched: names
// that are not relative, links and devices are refused (tar_reader.h), and no name may occur twice. Returns the bytes
// on disk. Errors: InvalidArgument if the file is not a valid archive or has a forbidden entry; ResourceExhausted above
// entries_max or if the disk is full; Cancelled; or the error of `reserve`. Files written before an error stay.
Result<int64_t> Unpack(const Path& archive, const Path& folder, const UnpackLimits& limits);

// Like the function above, but for any stream. A gzip file is recognized by its first two bytes.
Result<int64_t> Unpack(ByteSource archive, const Path& folder, const UnpackLimits& limits);

}  // namespace longshore::sources
