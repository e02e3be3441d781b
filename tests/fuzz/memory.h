// Counts the memory that this process holds: every malloc and new, of every thread.
#pragma once

#include <cstddef>

namespace longshore::fuzz {

// From the first call on: bytes held now, and the most since the last ResetPeak.
size_t HeldBytes();
size_t PeakBytes();
void ResetPeak();

// Begins to count. To be called once, before the first of the above.
void CountMemory();

}  // namespace longshore::fuzz
