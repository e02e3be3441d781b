// Counts the allocations of the whole program: every thread and every library.
#pragma once

#include <cstdint>

namespace longshore::bench::engine {

// Returns the number of calls of malloc, calloc, realloc, posix_memalign (which oneDNN uses) and operator new in all
// forms since the start.
int64_t Allocations();

}  // namespace longshore::bench::engine
