// The commands that only read objects: get, describe, events, explain, rollout.
#pragma once

#include <iosfwd>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/cli/options.h"
#include "controller/cli/place.h"

namespace longshore::cli {

// In text output, a line after the objects says how old their state is if no controller is running on the host. Get
// also lists differences between manifest files and their objects.
Status Get(const Options& options, const Place& place, const Clock& clock, std::ostream& out);
Status Describe(const Options& options, const Place& place, const Clock& clock, std::ostream& out);
Status Events(const Options& options, const Place& place, const Clock& clock, std::ostream& out);
Status Explain(const Options& options, const Place& place, const Clock& clock, std::ostream& out);
// With `watch`, shows the rollout again whenever it changes, on a terminal at least every second; ends only when the
// program is interrupted, the model is deleted, or the output cannot be written.
// Prints the rollout. With --watch, shows it again while it changes, until it is over. Without a rollout under way, a
// terminal waits for one. Returns kExitFailed if the object has failed, and kExitNoController if no controller runs
// and the output is no terminal.
Result<int> ShowRollout(const Options& options, const Place& place, const Clock& clock, std::ostream& out);

}  // namespace longshore::cli
