// The program longshore-load: its flags, and the loop that takes commands and prints JSON lines.
#pragma once

namespace longshore::load {

// Returns the exit code: 0 if every request got a good answer, 1 if some did not, 2 for invalid flags.
int Main(int argc, char** argv);

}  // namespace longshore::load
