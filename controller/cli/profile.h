// The command "profile": records the ops of the next runs of a serving node and writes them as a file for a trace
// viewer.
#pragma once

#include <iosfwd>

#include "common/base/error.h"
#include "controller/cli/options.h"

namespace longshore::cli {

// Starts a recording on the node, waits until it is complete, and writes the trace to options.out ("-": to `out`).
// Progress and hints go to `notes`. Errors: InvalidArgument before anything is sent if options.out cannot be written;
// DeadlineExceeded if no run happened; NotFound if the node does not know the model; FailedPrecondition if another
// recording is in progress there or has replaced this one.
Status RecordProfile(const ProfileOptions& options, std::ostream& out, std::ostream& notes);

}  // namespace longshore::cli
