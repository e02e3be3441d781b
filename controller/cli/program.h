// The program `longshore`: options in, a store opened, text out.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include "common/clock.h"
#include "controller/api/parse.h"
#include "controller/cli/options.h"
#include "controller/store/store.h"

namespace longshore::cli {

// Where the objects are.
struct Place {
  std::unique_ptr<store::Store> store;
  api::Home home = api::Home::kHost;
  std::string namespace_ = "default";  // Where nothing else is said.
};

// NotFound when there is no such directory, file or context; FailedPrecondition when nothing says where to look.
Result<Place> OpenPlace(const Options& options, const MonotonicClock& clock);

// Does what the options say there. Prints results to `out`.
Status Run(Options options, const Place& place, const Clock& clock, std::ostream& out);

// Returns the exit code.
int Main(int argc, char** argv);

}  // namespace longshore::cli
