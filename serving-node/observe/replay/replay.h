// longshore-node replay: runs a captured request again, as the only request, in this process.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "serving-node/engine/engine.h"

namespace longshore::replay {

inline constexpr int kNotReproduced = 0;
inline constexpr int kReproduced = 1;
inline constexpr int kCannotRun = 2;  // The bundle or the model cannot be read, or the arguments are wrong.

// Prints the result to `out` and returns the exit code of the process.
int Main(const std::vector<std::string>& arguments, engine::Engine& engine, std::ostream& out);

}  // namespace longshore::replay
