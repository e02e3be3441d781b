// The command set version.
#pragma once

#include <iosfwd>

#include "common/base/error.h"
#include "controller/cli/options.h"
#include "controller/cli/place.h"

namespace longshore::cli {

// Sets spec.version of the Model in the options, and nothing else. On a host, also changes the number in the manifest
// file that defines the Model, so that a later edit of the file does not bring the old version back; writes nothing if
// that is impossible. Other differences between the file and the Model stay as they are, and are printed.
Status SetVersion(const Options& options, const Place& place, std::ostream& out);

}  // namespace longshore::cli
