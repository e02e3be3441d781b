// The program `longshore-model`, which the command `longshore model` starts.
#pragma once

#include <iosfwd>

#include "serving-node/inspect/options.h"

namespace longshore::inspect {

// Executes the command: writes results to `out`, and notes such as the chosen version and timings to `notes`. Returns
// the exit code; DataLoss if `out` could not be written completely. If `options` is nullopt, `out` already has the
// help, and Run only checks that it was written.
Result<int> Run(const std::optional<Options>& options, std::ostream& out, std::ostream& notes);

int Main(int argc, char** argv);

}  // namespace longshore::inspect
