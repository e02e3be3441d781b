// The epoch of the latest controller on one host, stored in a file.
#pragma once

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore::app {

// Returns the epoch of a new term, which is above the epoch in the file and above `floor`, and writes it to the file.
// Returns DataLoss if the file holds anything other than a number.
Result<int64_t> NextEpoch(const Path& file, int64_t floor);

}  // namespace longshore::app
