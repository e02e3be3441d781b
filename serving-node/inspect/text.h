// Formats numbers for people.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "serving-node/tensor/tensor.h"

namespace longshore::inspect {

// Returns, for example, "97.8 MB" or "512 bytes".
std::string BytesText(int64_t bytes);
// Returns, for example, "7.73 GFLOP" or "512 FLOP".
std::string FlopsText(double flops);
// Returns, for example, "1.24 s", "410 ms" or "12.3 us".
std::string TimeText(std::chrono::nanoseconds time);
// Returns, for example, "1 node" or "2 nodes".
std::string CountText(int64_t count, std::string_view what);

}  // namespace longshore::inspect
