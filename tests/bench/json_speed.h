// How fast the body of an image becomes a tensor, and in how much memory.
#pragma once

#include <cstddef>

namespace longshore::bench {

struct JsonSpeed {
  double millions_per_second = 0;  // Of floats, the median of many rounds, by the time that one core had for it.
  size_t body_bytes = 0;
};

// How many digits the floats of a body have after the point. kPythons: as many as Python's json writes of a float32
// that became a double, 16 or 17 in all.
inline constexpr int kPythons = 0;

// {"instances": [...]} of 1x224x224x3 floats.
JsonSpeed MeasureJson(int digits);

// The most memory that this process held while such a body became a tensor, the body and what the process held before
// it included, less the latter; over the body's bytes. Linux tells only the peak since it was last asked, so: the first
// thing that a process does.
double MeasureJsonPeak(int digits);

}  // namespace longshore::bench
