// How fast the body of an image becomes a tensor.
#pragma once

#include <cstddef>

namespace longshore::bench {

struct JsonSpeed {
  double millions_per_second = 0;  // Of floats, the best of many rounds on one core.
  size_t body_bytes = 0;
};

// {"instances": [...]} of 1x224x224x3 floats with that many digits after the point.
JsonSpeed MeasureJson(int digits);

}  // namespace longshore::bench
