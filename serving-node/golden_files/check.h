// The command `longshore golden check`: whether every record can be read and fits the signatures of a model.
#pragma once

#include <iosfwd>

#include "serving-node/engine/engine.h"
#include "serving-node/golden_files/options.h"
#include "serving-node/golden_set/records.h"

namespace longshore::golden_files {

// Returns InvalidArgument if the signature, an input or an answer of the record has a name, type or shape that the
// model does not have, if an input without a default value is missing, or if there is no known answer.
Status CheckRecord(const golden_set::Record& record, const engine::Signatures& signatures);

// Checks all records; runs nothing. Errors: those of golden_set::RecordReader and CheckRecord, of the first record that
// has one. The message names the file, the record and its offset.
Status Check(const Options& options, const Path& version_dir, std::ostream& out, std::ostream& notes);

}  // namespace longshore::golden_files
