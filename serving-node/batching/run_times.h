// What the runs of one signature of a version took of late, by their rows. No threads, no clock: time is an argument.
#pragma once

#include <array>
#include <cstdint>

#include "serving-node/batching/lane.h"

namespace longshore::batching {

class RunTimes {
 public:
  // What was measured longer ago says nothing: a run that was slow once must not have requests refused for ever.
  static constexpr std::chrono::seconds kAgeMax{1};
  static constexpr size_t kKept = 8;  // Runs per size.

  void Note(int64_t rows, Duration took, TimePoint now);

  // The shortest of the last runs of about so many rows, or of fewer; 0: there is none.
  Duration AtLeast(int64_t rows, TimePoint now) const;

 private:
  struct Run {
    TimePoint at = TimePoint::min();
    Duration took{0};
  };
  struct Size {
    std::array<Run, kKept> runs;
    size_t next = 0;
  };
  static size_t SizeOf(int64_t rows);

  std::array<Size, 24> sizes_;  // By powers of two.
};

}  // namespace longshore::batching
