// Parses the command line of `longshore`.
#pragma once

#include <optional>

#include "common/base/error.h"
#include "controller/cli/options.h"

namespace longshore::cli {

// Returns the exit code for an error; for diff at least 2, so that 1 always means a difference.
int ExitCodeOf(const Error& error, Verb verb = Verb::kGet);

// Returns nullopt after printing the help or version that was asked for. Returns InvalidArgument, with a message for
// the user, if the command line is wrong.
Result<std::optional<Options>> ParseOptions(int argc, const char* const* argv);

}  // namespace longshore::cli
