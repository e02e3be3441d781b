// The program `longshore`: parses options, opens the place of the objects, and prints text.
#pragma once

#include <iosfwd>

#include "common/base/clock.h"
#include "controller/cli/options.h"
#include "controller/cli/place.h"

namespace longshore::cli {

// Runs the command on the place, prints results to `out` and returns the exit code.
Result<int> Run(Options options, const Place& place, const Clock& clock, std::ostream& out);

int Main(int argc, char** argv);

}  // namespace longshore::cli
