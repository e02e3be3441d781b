// The commands that read a manifest: apply, its dry run (which shows the rollouts that would begin), and diff.
#pragma once

#include <iosfwd>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/cli/options.h"
#include "controller/cli/place.h"

namespace longshore::cli {

Status Apply(const Options& options, const Place& place, const Clock& clock, std::ostream& out);

// Returns the exit code: kExitOk when nothing differs, kExitDiffers otherwise.
Result<int> Diff(const Options& options, const Place& place, std::ostream& out);

}  // namespace longshore::cli
