#include "controller/cli/text/interval_bar.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace longshore::cli::text {
namespace {

constexpr int kMiddle = static_cast<int>(kIntervalBarColumns) / 2;
constexpr double kLimitsMax = 4;  // The scale, in multiples of the limit.

}  // namespace

std::string IntervalBar(const Bounds& bounds) {
  const double widest = std::max({std::abs(bounds.low), std::abs(bounds.high), bounds.limit});
  const double scale = bounds.limit > 0 ? std::min(widest, kLimitsMax * bounds.limit) : widest;
  const auto column = [&](double value) {
    const double share = scale > 0 ? std::clamp(value / scale, -1.0, 1.0) : 0;
    return static_cast<size_t>(kMiddle + std::lround(share * kMiddle));
  };
  std::array<std::string_view, kIntervalBarColumns> cells;
  cells.fill("─");
  std::fill(cells.begin() + static_cast<long>(column(bounds.low)),
            cells.begin() + static_cast<long>(column(bounds.high)) + 1, "━");
  cells[column(0)] = "0";
  if (bounds.low < -scale) cells.front() = "◀";
  if (bounds.high > scale) cells.back() = "▶";
  if (bounds.limit > 0) cells[column(bounds.limit)] = "┃";
  std::string bar;
  for (const std::string_view cell : cells) bar += cell;
  return bar;
}

}  // namespace longshore::cli::text
