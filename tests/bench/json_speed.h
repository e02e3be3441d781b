// How fast the body of an image becomes a tensor, and in how much memory.
#pragma once

#include <cstddef>

namespace longshore::bench {

struct JsonSpeed {
  double millions_per_second = 0;  // Of floats, the best of many rounds on one core.
  size_t body_bytes = 0;
};

// {"instances": [...]} of 1x224x224x3 floats with that many digits after the point.
JsonSpeed MeasureJson(int digits);

// The most memory that this process held while such a body became a tensor, the body and what the process held before
// it included, less the latter; over the body's bytes. Linux tells only the peak since it was last asked, so: the first
// thing that a process does.
double MeasureJsonPeak(int digits);

}  // namespace longshore::bench
