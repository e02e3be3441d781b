// Runs the golden set of the version that serves now, and shows the result on each node.
#pragma once

#include <ostream>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/api/types.h"
#include "controller/cli/options.h"
#include "controller/store/store.h"

namespace longshore::cli {

// Gives the command `validate` to the controller, waits until all nodes have ended the run and prints the results.
// Returns kExitOk if the golden set passed on all nodes, kExitFailed if it failed on one, and kExitTimeout if a node
// has not ended the run in time; then the results of the others are printed. Returns FailedPrecondition if the
// controller refuses the command, or the request was replaced by a later one.
Result<int> Validate(const Options& options, store::Store& store, const Clock& clock, std::ostream& out);

}  // namespace longshore::cli
