// Runs a signature with inputs from files: what `longshore model run` does.
#pragma once

#include <iosfwd>

#include "serving-node/engine/engine.h"
#include "serving-node/inspect/options.h"

namespace longshore::inspect {

// Outputs go to `out` as JSON, or to .npy files whose names go there; timings and the profile to `notes`. Errors name
// what does not fit: file, input, expected and given.
Status RunSignature(engine::Engine& engine, const Path& version_dir, const Options& options, std::ostream& out,
                    std::ostream& notes);

}  // namespace longshore::inspect
