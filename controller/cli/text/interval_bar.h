// An interval on one line of text, beside zero and a limit.
//
// Pure, like text.h.
#pragma once

#include <string>

namespace longshore::cli::text {

// The bounds of a difference, and the largest one that is allowed. All have the same unit.
struct Bounds {
  double low = 0;
  double high = 0;
  double limit = 0;  // At least 0.
};

inline constexpr size_t kIntervalBarColumns = 49;

// Returns kIntervalBarColumns characters: "━" in the interval, "─" elsewhere, "0" at zero, "┃" at the limit. Zero is in
// the middle; the scale ends at the largest of the three numbers, but at most at four times the limit, so that the
// limit stays visible: an arrow shows that the interval goes on.
std::string IntervalBar(const Bounds& bounds);

}  // namespace longshore::cli::text
