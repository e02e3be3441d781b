// The command `longshore golden show`: what a golden set contains.
#pragma once

#include <iosfwd>

#include "serving-node/golden_files/options.h"

namespace longshore::golden_files {

// Prints the number of records, the inputs and known answers of each signature with their types and shapes, how often
// each class is the right one, and the first records. Errors as for golden_set::RecordReader.
Status Show(const Options& options, std::ostream& out, std::ostream& notes);

}  // namespace longshore::golden_files
