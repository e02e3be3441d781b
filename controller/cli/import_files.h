// import: reads the files of another system and prints manifests.
#pragma once

#include <iosfwd>

#include "common/error.h"
#include "controller/cli/options.h"

namespace longshore::cli {

// Manifests to `out`, a note for every setting that they do not say to `notes`.
Status Import(const Options& options, std::ostream& out, std::ostream& notes);

}  // namespace longshore::cli
