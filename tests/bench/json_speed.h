// Measures how fast, and with how much memory, a JSON body with an image becomes a tensor.
#pragma once

#include <cstddef>

namespace longshore::bench {

struct JsonSpeed {
  double millions_per_second = 0;  // Millions of floats per second of processor time: the median of many rounds.
  size_t body_bytes = 0;
};

// A value of `digits`: each float has as many digits as Python's json writes of a float32 that became a double, 16 or
// 17 in all.
inline constexpr int kPythons = 0;

// The API whose body is measured: {"instances": [...]} of TensorFlow Serving's, or {"inputs": [{"data": [...]}]} of the
// Open Inference Protocol.
enum class JsonApi { kPredict, kInfer };

// Measures a body of 1x224x224x3 floats, each with `digits` digits after the decimal point.
JsonSpeed MeasureJson(JsonApi api, int digits);

// Returns the peak memory that it takes to turn such a body into a tensor, including the body, divided by the size of
// the body. Call it first in a process: memory that earlier work has freed but that is still resident would be used
// again, and the result would be too low.
double MeasureJsonPeak(int digits);

}  // namespace longshore::bench
