// The command `longshore golden from-log`: draws records from request logs.
#pragma once

#include <iosfwd>

#include "serving-node/golden_files/options.h"

namespace longshore::golden_files {

// Writes a golden set of the Predict requests in the files and of the answers that they got. Other records are left out
// and counted in `notes`. Without a sample the records keep their order; a sample does too, and the same seed draws the
// same records from the same files. An incomplete record at the end of a file, which is still being written, is left
// out. Errors: DataLoss for a damaged record; InvalidArgument if the files have requests to several models;
// FailedPrecondition if nothing is left.
Status FromLog(const Options& options, std::ostream& out, std::ostream& notes);

}  // namespace longshore::golden_files
