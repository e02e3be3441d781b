// The fields that an apply on a cluster leaves as they are although the file does not have them.
#pragma once

#include <string>

#include "controller/cli/commands.h"
#include "controller/cli/place.h"

namespace longshore::cli {

// Names the fields of the spec that the file leaves out and that the object keeps, because other field managers own
// them, with these managers; "" if there are none. Server-side apply removes only fields that its own manager set.
// Labels and annotations of other managers are usual, and are not named.
std::string KeptText(const Place& place, const Applied& applied);

}  // namespace longshore::cli
