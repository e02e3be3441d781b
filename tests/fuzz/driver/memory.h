// Counts the memory that this process holds: every malloc and new, of every thread.
#pragma once

#include <cstddef>

namespace longshore::fuzz::driver {

// Bytes that are held now, and their maximum since the last ResetPeak; both count from CountMemory on.
size_t HeldBytes();
size_t PeakBytes();
void ResetPeak();

// Starts to count. Must be called once, before the functions above.
void CountMemory();

}  // namespace longshore::fuzz::driver
