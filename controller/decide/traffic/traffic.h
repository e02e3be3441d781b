// The traffic of a Model over about the last day, for estimates of how long a proof takes. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::traffic {

// What all versions of a Model have done until `at`. The counts only grow.
struct Counted {
  TimePoint at;
  int64_t requests = 0;
  int64_t errors = 0;  // The server's faults.
};

// How long to count before the next record: from a minute, for a Model without a record, up to an hour.
inline constexpr Duration kCountForMax = std::chrono::hours(1);
Duration CountFor(const api::Traffic& before);

// Whether `later` cannot be a later count: the counts of versions that no node reports any more are forgotten.
bool WentBack(const Counted& earlier, const Counted& later);

// Returns the record that includes the requests from `from` until `to`. A record is the mean over the time in which
// requests were counted; after a day it becomes an exponential mean with a time constant of a day. Returns nullopt if
// `before` is still true: if neither rate has changed by more than a tenth since a record over a whole day, or if there
// has been no request at all. Requires: from.at < to.at, and !WentBack(from, to).
std::optional<api::Traffic> Record(const api::Traffic& before, const Counted& from, const Counted& to);

// Counts the requests of one Model between two records.
class Meter {
 public:
  // Returns the record of the traffic to write, if a new one is due.
  std::optional<api::Traffic> Count(const api::Traffic& before, const Counted& now);
  // Call it when a record is written. The next one begins at `now`.
  void Written(const Counted& now) { from_ = now; }
  // The time from the last count until the next record may be due.
  Duration due_in() const { return due_in_; }

 private:
  std::optional<Counted> from_;
  std::optional<Counted> last_;
  Duration due_in_{0};
};

}  // namespace longshore::traffic
