// Compares two runs of longshore-load that were saved with --json.
//
// Pure: the same two runs always give the same text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "tests/load/latency.h"

namespace longshore::load {

// The counts of one progress line, which cover about one second.
struct SavedSecond {
  double seconds = 0;
  int64_t sent = 0;
  int64_t answered = 0;
  int64_t failed = 0;
  LatencyCounts latency;
};

struct SavedRun {
  std::string name;  // For the heading, such as the name of the file.
  double requests_asked = 0;
  SavedSecond whole;
  std::vector<SavedSecond> seconds;
};

// Parses the lines that longshore-load --json printed. InvalidArgument if a line is not valid, or if there is no final
// line because the run did not end.
Result<SavedRun> ParseRun(std::string name, std::string_view lines);

inline constexpr size_t kSecondsMin = 6;  // With fewer seconds in a run, an interval would mean nothing.

// A table with both runs side by side. Each row has the ratio of B to A, or the difference of shares, with its 95 %
// interval, and says whether the difference is larger than its uncertainty: whether the interval leaves out "equal".
//
// The intervals are those of the bootstrap over the seconds of both runs: the 2.5 % and 97.5 % quantiles over 1000
// draws of as many seconds with replacement (Efron, Tibshirani, An Introduction to the Bootstrap, 13.3). Seconds and
// not requests are drawn, because the requests of one second share its stalls.
std::string ComparisonText(const SavedRun& a, const SavedRun& b);

}  // namespace longshore::load
