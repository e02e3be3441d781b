// The program longshore-load: its flags, and the loop that takes commands and prints JSON lines.
#pragma once

namespace longshore::load {

// Returns the exit code: 0 when every request was answered well, 1 when some were not, 2 for bad flags.
int Main(int argc, char** argv);

}  // namespace longshore::load
