// The command `longshore golden from-model`: records the answers of a version to given inputs.
#pragma once

#include <iosfwd>

#include "serving-node/golden_files/options.h"

namespace longshore::golden_files {

// Writes a golden set of the inputs in the files and of the answers of the version in `version_dir`. Arrays (.npz,
// .npy) and JSON become one record for every options.inputs.batch rows; the requests of a log or warm-up file stay as
// they are. Errors name the file, and the record or the rows.
Status FromModel(const Options& options, const Path& version_dir, std::ostream& out, std::ostream& notes);

}  // namespace longshore::golden_files
