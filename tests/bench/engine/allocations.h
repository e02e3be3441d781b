// How often the program asked for memory, with every thread and library of it counted.
#pragma once

#include <cstdint>

namespace longshore::bench {

// Calls of operator new since the start, in whatever form.
int64_t Allocations();

}  // namespace longshore::bench
