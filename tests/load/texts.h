// What longshore-load prints for people: a live line, a line for each segment, and a summary.
//
// Pure: the same values always give the same text.
#pragma once

#include <string>

#include "tests/load/ledger.h"

namespace longshore::load {

// What happened since the previous progress, and the counts of the whole run.
struct Progress {
  Duration elapsed{0};   // Since the run began.
  Duration interval{0};  // Since the previous progress.
  Counts recent{};
  Counts total{};
  double rate_per_second = 0;  // The rate that is asked for now.
  size_t in_flight = 0;
  uint64_t distinct_keys = 0;
};
Json ToJson(const Progress& progress);
// "12 s  998 requests/s  0 errors  p50 1.17 ms  p99 4.69 ms  3 in flight". Rate and latencies are those of the
// interval.
std::string LiveLine(const Progress& progress);

// "  start: 10.0 s, 1000 sent, 998 answered, 2 failed, p50 1.17 ms, p99 4.69 ms\n"
std::string SegmentLine(const SegmentReport& report);

// The whole run.
struct RunResult {
  Duration sending{0};        // How long requests were sent.
  double requests_asked = 0;  // The rates that were asked for, multiplied by their times.
  Counts total{};
  size_t unanswered = 0;
  uint64_t distinct_keys = 0;
};
Json ToJson(const RunResult& run);

// Several lines: the rate that was asked for and the one that was achieved, latencies with a histogram, errors by code,
// and the versions and nodes that answered.
std::string SummaryText(const RunResult& run);

}  // namespace longshore::load
