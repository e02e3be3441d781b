// The command delete.
#pragma once

#include <iosfwd>

#include "common/base/error.h"
#include "controller/cli/options.h"
#include "controller/cli/place.h"

namespace longshore::cli {

// Deletes the objects that the options name or select, or those that their manifests define. Goes on after a missing
// object, and returns NotFound at the end. Says so if a manifest file of the host defines a deleted object, because
// that file does not create it again.
//
// If a person can answer, asks for each fleet that Models outside of the deleted objects refer to. Returns
// FailedPrecondition, and deletes nothing, unless the answer is "y" or "yes".
Status Delete(const Options& options, const Place& place, std::istream& in, std::ostream& out);

}  // namespace longshore::cli
