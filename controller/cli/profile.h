// profile: what each op of a model does in the next runs of a node that serves, as a file for viewers of traces.
#pragma once

#include <iosfwd>

#include "common/error.h"
#include "controller/cli/options.h"

namespace longshore::cli {

// Asks the node to record, waits until it has, and writes the trace to options.out; `notes` gets how far it is, and
// what to do with it. DeadlineExceeded when no run came, NotFound when the node does not know the model,
// FailedPrecondition while somebody else's recording is under way there, or when one took the place of this one. A path
// that cannot be written is an error before the node is asked.
Status RecordProfile(const ProfileOptions& options, std::ostream& out, std::ostream& notes);

}  // namespace longshore::cli
