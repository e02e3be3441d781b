// The command `longshore model run`: runs a signature with inputs from files.
#pragma once

#include <iosfwd>

#include "serving-node/engine/engine.h"
#include "serving-node/inspect/options.h"

namespace longshore::inspect {

// Writes the outputs to `out` as JSON, or to .npy files whose names it writes to `out`. Writes timings and the profile
// to `notes`. Errors name the file, the input, and the expected and given type and shape.
Status RunSignature(engine::Engine& engine, const Path& version_dir, const Options& options, std::ostream& out,
                    std::ostream& notes);

}  // namespace longshore::inspect
