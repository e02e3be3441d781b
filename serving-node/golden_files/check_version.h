// The command `longshore check-version`: whether a version would pass its rehearsal, with the numbers.
#pragma once

#include <iosfwd>

#include "serving-node/golden_files/options.h"

namespace longshore::golden_files {

// Rehearses the version with the code of the nodes (rehearsal::Judge) in this process, and prints whether it passes,
// the score against its minimum, and the first records that do not pass. Returns kExitFailed if the version would not
// pass, also if it does not load, or the golden set cannot be read.
int CheckVersion(const Options& options, const Path& version_dir, std::ostream& out, std::ostream& notes);

// Prints that the version would not pass because it crashed the process that ran it, in the same JSON as CheckVersion.
// Prints nothing unless the options ask for JSON: the caller reports the crash to people.
void PrintCrash(const Options& options, const Path& version_dir, const std::string& why, std::ostream& out);

}  // namespace longshore::golden_files
