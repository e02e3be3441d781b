// Shows a run of the golden set that a person asked for.
#pragma once

#include <string>

#include "controller/api/types.h"

namespace longshore::cli::text {

// Returns one line per node, first the nodes on which the golden set failed, and one line with the counts.
std::string GoldenRunText(const api::GoldenRequest& request);

}  // namespace longshore::cli::text
