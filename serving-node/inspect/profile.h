// The time of a run as text, by ops and by nodes.
#pragma once

#include <string>

#include "serving-node/engine/engine.h"

namespace longshore::inspect {

double TotalFlops(const engine::RunProfile& profile);

// Returns a text that names the op that takes most of the time: "91 % of the time in Conv2D".
std::string MostlyText(const engine::RunProfile& profile);

// Returns a table of the ops, the slowest first, and a table of the slowest nodes.
std::string ToText(const engine::RunProfile& profile);

}  // namespace longshore::inspect
