// Unpacks a tar archive, plain or gzipped, into a folder of its own.
#pragma once

#include <cstdint>
#include <functional>

#include "common/error.h"
#include "common/file.h"
#include "serving-node/sources/tar_reader.h"

namespace longshore::sources {

struct UnpackLimits {
  int64_t entries_max = 100'000;  // Files and folders.
  // Asked before each entry is written, by what its header says: may the archive take so many bytes of the disk
  // (SizeOnDisk) in all? Its error ends the unpacking.
  std::function<Status(int64_t bytes)> reserve;
  std::function<bool()> is_cancelled;
};

// What a file of so many bytes takes on the disk: whole blocks.
int64_t SizeOnDisk(int64_t bytes);

// Writes what is in the archive below `folder`, which is empty. Nothing outside it is touched: entries with other names
// than relative ones, links and devices are refused (tar_reader.h), and no name is taken twice. Returns the bytes on
// the disk. InvalidArgument when the archive is none or holds what it may not; ResourceExhausted beyond entries_max,
// or when the disk is full; Cancelled; or what reserve returned. What was written by then stays.
Result<int64_t> Unpack(const Path& archive, const Path& folder, const UnpackLimits& limits);

// The same from anywhere. Gzip is known by its first two bytes.
Result<int64_t> Unpack(ByteSource archive, const Path& folder, const UnpackLimits& limits);

}  // namespace longshore::sources
