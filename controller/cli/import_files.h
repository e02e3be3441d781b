// The command "import": reads the configuration of another system and prints manifests.
#pragma once

#include <iosfwd>

#include "common/base/error.h"
#include "controller/cli/options.h"

namespace longshore::cli {

// Prints manifests to `out`, and prints to `notes` one line for every setting that manifests cannot express.
Status Import(const Options& options, std::ostream& out, std::ostream& notes);

}  // namespace longshore::cli
