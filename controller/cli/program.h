// The program `longshore`: options in, a place opened, text out.
#pragma once

#include <iosfwd>

#include "common/clock.h"
#include "controller/cli/options.h"
#include "controller/cli/place.h"

namespace longshore::cli {

// Does what the options say there. Prints results to `out`. Returns the exit code.
Result<int> Run(Options options, const Place& place, const Clock& clock, std::ostream& out);

int Main(int argc, char** argv);

}  // namespace longshore::cli
