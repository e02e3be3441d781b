// Where the time of a run goes, by ops and by nodes.
#pragma once

#include <string>

#include "serving-node/engine/engine.h"

namespace longshore::inspect {

double TotalFlops(const engine::RunProfile& profile);

// "mostly Conv2D (91 %)": what takes most of the time.
std::string MostlyText(const engine::RunProfile& profile);

// A table of the ops, the slowest first, and the slowest nodes.
std::string ToText(const engine::RunProfile& profile);

}  // namespace longshore::inspect
