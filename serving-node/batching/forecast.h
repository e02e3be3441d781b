// Predicts the run time of a version's next batch from its recent runs, by signature and size of the inputs. No
// threads, no clock: time is an argument.
//
//   Runs of 400 bytes took 5 and 6 ms: a run of 400 bytes or more takes at least 5 ms, and a run of 400 bytes likely
//   takes 5.5 ms. A run of 100 bytes likely takes a quarter of that; its minimum is unknown.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "serving-node/batching/types.h"

namespace longshore::batching {

class Forecast {
 public:
  // Older runs are ignored, so that one slow run does not cause requests to be refused forever.
  static constexpr std::chrono::seconds kAgeMax{1};
  static constexpr size_t kRunsKept = 8;  // Runs remembered per size class.
  // At most one probe (AllowProbe) runs in the time of this many runs, so that probes use at most 1/20 of a slot.
  static constexpr int kProbePeriodRuns = 20;

  // Records a run of `bytes` bytes of inputs that ended at `now`. Requires: `signature` is a signature of the model, so
  // that the number of signatures is bounded.
  void Record(const std::string& signature, int64_t bytes, Duration took, TimePoint now);

  // Returns the time of the shortest recent run in the size class of `bytes` (powers of two) with at most `bytes`
  // bytes; without such a run, that of the shortest run in the next smaller class that has runs. 0: unknown.
  Duration AtLeast(const std::string& signature, int64_t bytes, TimePoint now) const;
  // Returns the mean time of the recent runs in the size class of `bytes`; without such runs, the time per byte of the
  // next larger class times `bytes`. Not less than AtLeast; 0: unknown.
  Duration Likely(const std::string& signature, int64_t bytes, TimePoint now) const;
  // Like AtLeast, but runs of any age count.
  Duration AtLeastEver(const std::string& signature, int64_t bytes) const;

  // Whether a request that would miss its deadline according to AtLeast runs anyway, as a probe. Call it once per such
  // request. Run times depend on more than the size: while slow requests of this size with late deadlines keep running,
  // only a probe can show that other requests of this size are quick.
  bool AllowProbe(const std::string& signature, int64_t bytes, TimePoint now);

 private:
  struct Run {
    TimePoint at = TimePoint::min();  // The default: no run.
    int64_t bytes = 0;
    Duration took{0};
  };
  struct Size {
    std::array<Run, kRunsKept> runs;
    size_t next = 0;
    TimePoint refusing_since = TimePoint::min();
  };
  using Sizes = std::array<Size, 40>;  // Size classes by powers of two.

  static size_t IndexOf(int64_t bytes);
  Duration Least(const std::string& signature, int64_t bytes, TimePoint since) const;

  std::map<std::string, Sizes> signatures_;
};

}  // namespace longshore::batching
