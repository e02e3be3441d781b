// Reads the files of numpy.savez and numpy.savez_compressed: a ZIP archive of .npy files.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace longshore::golden_files {

inline constexpr size_t kArraysMax = 1000;

// Returns the bytes of each .npy file by the name of the array: "x" for x.npy. DataLoss for a damaged archive;
// Unimplemented for archives of another kind (encrypted, in several parts, more than 4 GiB); ResourceExhausted for more
// than kArraysMax arrays, or if the arrays together have more than bytes_max bytes.
Result<std::map<std::string, std::string>> ParseNpz(std::string_view bytes, size_t bytes_max = size_t{4} << 30);

}  // namespace longshore::golden_files
