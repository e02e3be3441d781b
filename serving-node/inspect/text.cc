#include "serving-node/inspect/text.h"

#include <array>

namespace longshore::inspect {
namespace {

// Rounds to three significant digits: "1.24", "97.8", "410".
std::string Rounded(double value) {
  return value < 9.995   ? fmt::format("{:.2f}", value)
         : value < 99.95 ? fmt::format("{:.1f}", value)
                         : fmt::format("{:.0f}", value);
}

// Formats the value in the largest unit in which it is at least 1. Each unit is a thousand times the one before; the
// first one is 1.
template <size_t N>
std::string Scaled(double value, const std::array<std::string_view, N>& units) {
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < N) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} {}", value, units[0]) : fmt::format("{} {}", Rounded(value), units[unit]);
}

}  // namespace

std::string BytesText(int64_t bytes) {
  return Scaled(static_cast<double>(bytes), std::array<std::string_view, 5>{"bytes", "KB", "MB", "GB", "TB"});
}

std::string FlopsText(double flops) {
  return Scaled(flops, std::array<std::string_view, 5>{"FLOP", "KFLOP", "MFLOP", "GFLOP", "TFLOP"});
}

std::string TimeText(std::chrono::nanoseconds time) {
  return Scaled(static_cast<double>(time.count()), std::array<std::string_view, 4>{"ns", "us", "ms", "s"});
}

std::string CountText(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace longshore::inspect
