// Selects an exact share of a sequence.
#pragma once

#include <cstdint>

namespace longshore {

// For example, Sampled(i, 0.25) is true for one of any four consecutive i.
bool Sampled(uint64_t i, double share);

}  // namespace longshore
