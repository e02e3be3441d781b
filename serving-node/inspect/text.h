// Formats numbers for people.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "serving-node/tensor/tensor.h"

namespace longshore::inspect {

// "97.8 MB", "512 bytes".
std::string BytesText(int64_t bytes);
// "7.73 GFLOP", "512 FLOP".
std::string FlopsText(double flops);
// "1.24 s", "410 ms", "12.3 us".
std::string TimeText(std::chrono::nanoseconds time);
// "1 node", "2 nodes".
std::string CountText(int64_t count, std::string_view what);

}  // namespace longshore::inspect
