// The commands `longshore golden` and `longshore check-version`, which the program `longshore-model` executes.
#pragma once

#include <iosfwd>
#include <string_view>

#include "serving-node/golden_files/options.h"

namespace longshore::golden_files {

// Whether this verb of longshore is one of these commands.
bool IsCommand(std::string_view verb);

// Executes the command: writes results to `out`, and notes such as the progress to `notes`. Returns the exit code.
// DataLoss if `out` could not be written completely.
Result<int> Run(const Options& options, std::ostream& out, std::ostream& notes);

// Requires: IsCommand(argv[1]).
int Main(int argc, char** argv);

}  // namespace longshore::golden_files
