// The program `longshore`: options in, a store opened, text out.
#pragma once

#include <iosfwd>

#include "common/clock.h"
#include "controller/cli/options.h"
#include "controller/store/store.h"

namespace longshore::cli {

// Does what the options say on this store. Prints results to `out`.
Status Run(const Options& options, store::Store& store, const Clock& clock, std::ostream& out);

// Returns the exit code.
int Main(int argc, char** argv);

}  // namespace longshore::cli
