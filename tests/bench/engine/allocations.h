// How often the program asked for memory, with every thread and library of it counted.
#pragma once

#include <cstdint>

namespace longshore::bench {

// Calls of malloc, its kin and operator new since the start, in whatever form: oneDNN, too, asks by posix_memalign.
int64_t Allocations();

}  // namespace longshore::bench
