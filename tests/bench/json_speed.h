// Measures how fast, and with how much memory, a JSON body with an image becomes a tensor.
#pragma once

#include <cstddef>

namespace longshore::bench {

struct JsonSpeed {
  double millions_per_second = 0;  // Millions of floats per second of processor time: the median of many rounds.
  size_t body_bytes = 0;
};

// How many digits the floats of a body have after the point. kPythons: as many as Python's json writes of a float32
// that became a double, 16 or 17 in all.
inline constexpr int kPythons = 0;

// {"instances": [...]} of 1x224x224x3 floats.
JsonSpeed MeasureJson(int digits);

// The peak memory that it took to turn such a body into a tensor, the body included, divided by the body's bytes.
// Linux reports the peak of the whole process since its start, so this must be the first thing that a process does.
double MeasureJsonPeak(int digits);

}  // namespace longshore::bench
