// What the rules of other operators see of a rollout: counts per point in time. tests/sim/peers/README.md has the
// format.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/service.h"

namespace longshore::sim {

// What an operator knows about stable from the time before a rollout. 0: unknown.
struct Past {
  double error_share = 0;
  double p50_us = 0;
  double p90_us = 0;
  double p99_us = 0;
};

// Sums the seconds of a simulated service to points of equal length.
class Recording {
 public:
  struct Options {
    int interval_seconds = 10;
    bool run_times = false;  // Rules that only compare errors do not need them, and they are most of the data.
    Past past{};
  };
  explicit Recording(const Options& options) : options_(options) {}

  bool keeps_run_times() const { return options_.run_times; }
  // Adds what happened in the time up to `seconds` since the rollout began. A period must not be longer than a point.
  void Add(double seconds, const Period& period);
  // A line of JSON, without its end.
  std::string Line(uint64_t id) const;

 private:
  struct Arm {
    int64_t requests = 0;
    int64_t errors = 0;
    std::vector<int64_t> run_times{};  // Of each request, per bucket.
  };
  struct Point {
    Arm candidate;
    Arm stable;
  };
  void AddArm(const api::ArmEvidence& evidence, const std::vector<double>& run_times_us, Arm& arm) const;
  // The buckets that are written: those with a run time in any point, and one below them.
  struct Range {
    int begin = 0;
    int end = 0;
  };
  Range UsedBuckets() const;
  void WriteArm(const char* name, const Arm& arm, const Range& range, std::string& line) const;

  Options options_;
  std::vector<Point> points_;
};

}  // namespace longshore::sim
