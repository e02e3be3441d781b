// The command `longshore golden from-csv`: makes records of the rows of a table.
#pragma once

#include <iosfwd>

#include "serving-node/golden_files/options.h"

namespace longshore::golden_files {

// Writes a golden set with one record for each row. The inputs are those of the signature of the version in
// `version_dir`. With labels they are the known answers, and the model does not run; without labels, the known answers
// are those of the version. InvalidArgument for a table that does not fit the signature: the message names the file,
// the line and the column.
Status FromCsv(Options options, const Path& version_dir, std::ostream& out, std::ostream& notes);

}  // namespace longshore::golden_files
