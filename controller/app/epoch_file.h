// The terms of the controllers of one host, counted in a file.
#pragma once

#include "common/error.h"
#include "common/file.h"

namespace longshore::app {

// The epoch of a new term: above the file's, which holds it from now on, and above `floor`. DataLoss when the file
// holds anything but a number.
Result<int64_t> NextEpoch(const Path& file, int64_t floor);

}  // namespace longshore::app
