// The program `longshore-model`, which `longshore model` runs: options in, an engine asked, text out.
#pragma once

#include <iosfwd>

#include "serving-node/inspect/options.h"

namespace longshore::inspect {

// Does what the options say: results to `out`, what accompanies them (which version, how long it took) to `notes`.
// Returns the exit code; DataLoss when `out` did not take everything. Without options: `out` has the help already.
Result<int> Run(const std::optional<Options>& options, std::ostream& out, std::ostream& notes);

int Main(int argc, char** argv);

}  // namespace longshore::inspect
