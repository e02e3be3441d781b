// What the runs of a version took of late, by signature and size of the inputs, and what that says of the next one. No
// threads, no clock: time is an argument.
//
//   Runs of 400 bytes took 5 and 6 ms: one of 400 or more takes at least 5 ms and likely 5.5; nothing is known of one
//   of 100 bytes but that it likely takes a quarter of that.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "serving-node/batching/batching.h"

namespace longshore::batching {

using TimePoint = Queue::TimePoint;
using Duration = std::chrono::steady_clock::duration;

class Forecast {
 public:
  // What was measured longer ago refuses nobody: a run that was slow once must not have requests refused for ever.
  static constexpr std::chrono::seconds kAgeMax{1};
  static constexpr size_t kKept = 8;  // Runs per size.
  // Of requests that are ruled out one is let through so rarely that its run takes no more than this part of a slot.
  static constexpr int kProbePart = 20;

  // Requires: a signature of the model, of which there are few.
  void Note(const std::string& signature, int64_t bytes, Duration took, TimePoint now);

  // The shortest of the last runs of so many bytes or down to half of them; where there is none, of still fewer.
  // 0: nothing is known.
  Duration AtLeast(const std::string& signature, int64_t bytes, TimePoint now) const;
  // The mean of the last runs of about so many bytes; where there is none, in proportion what those of the next larger
  // size took. Not less than AtLeast; 0: nothing is known.
  Duration Likely(const std::string& signature, int64_t bytes, TimePoint now) const;
  // AtLeast, of runs of whatever age.
  Duration AtLeastEver(const std::string& signature, int64_t bytes) const;

  // Whether a request that AtLeast rules out is let through all the same: what a run takes may depend on more than its
  // size, and where requests of that size go on that are slow and have time, nobody else would find out.
  bool LetsThrough(const std::string& signature, int64_t bytes, TimePoint now);

 private:
  struct Run {
    TimePoint at = TimePoint::min();  // Never, by that.
    int64_t bytes = 0;
    Duration took{0};
  };
  struct Size {
    std::array<Run, kKept> runs;
    size_t next = 0;
    TimePoint refusing_since = TimePoint::min();
  };
  using Sizes = std::array<Size, 40>;  // By powers of two.

  static size_t IndexOf(int64_t bytes);
  Duration Least(const std::string& signature, int64_t bytes, TimePoint since) const;

  std::map<std::string, Sizes> signatures_;
};

}  // namespace longshore::batching
