// The command delete.
#pragma once

#include <iosfwd>

#include "common/base/error.h"
#include "controller/cli/options.h"
#include "controller/cli/place.h"

namespace longshore::cli {

// Deletes the objects that the options name or select, or those that their manifests define. Goes on after an object
// that is missing or cannot be deleted, and returns an error with all of them at the end. Says so if a manifest file of
// the host defines a deleted object, because that file does not create it again.
//
// If a person can answer, asks for each fleet that serves Models other than the deleted ones; on a cluster it looks for
// these in all namespaces. A selection (by labels, or all) asks also if the Models are deleted too, and is refused if
// no person can answer. Returns FailedPrecondition, and deletes nothing, unless the answer is "y" or "yes".
Status Delete(const Options& options, const Place& place, std::istream& in, std::ostream& out);

}  // namespace longshore::cli
