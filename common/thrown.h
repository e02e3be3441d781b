// Exceptions of libraries as errors of ours, at the seams where they end.
#pragma once

#include <string_view>

#include "common/error.h"

namespace longshore {

// The error for the exception that is being handled, to be called in a catch block: ResourceExhausted where memory ran
// out, Internal with the exception's text for every other. `what` names what was done: "a run of signature \"x\"".
tl::unexpected<Error> FromThrown(std::string_view what);

}  // namespace longshore
