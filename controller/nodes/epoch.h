// The term of a controller, in a file: it only ever grows.
#pragma once

#include "common/error.h"
#include "common/file.h"

namespace longshore::nodes {

// 0 when there is no file yet. DataLoss when it holds anything but a number.
Result<int64_t> ReadEpoch(const Path& file);
Status WriteEpoch(const Path& file, int64_t epoch);

}  // namespace longshore::nodes
