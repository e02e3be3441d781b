// Limits how often nodes can end the term of a controller in a cluster.
//
// If a node holds an epoch that is not below that of this controller, it got that epoch from a controller that this one
// does not know: the objects were restored from a backup, or the Lease was deleted. A term above that epoch has to
// start, which closes the streams of all nodes. A node that reports a wrong epoch must not be able to cause this
// repeatedly.
//
// Pure: the time is an argument. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/clock.h"
#include "common/base/error.h"

namespace longshore::nodes {

class EpochRaises {
 public:
  explicit EpochRaises(Duration interval_min = std::chrono::minutes(5)) : interval_min_(interval_min) {}

  // Call this when, during the term `epoch`, a node requires a term with a higher epoch. Several nodes may do so in one
  // term, because the term ends only once. Returns ResourceExhausted with the remaining time if a node ended another
  // term less than `interval_min` ago.
  Status Allow(int64_t epoch, MonotonicPoint now);

 private:
  struct Raise {
    int64_t epoch = 0;  // The epoch of the term that was ended.
    MonotonicPoint at;
  };
  const Duration interval_min_;
  std::optional<Raise> last_;
};

}  // namespace longshore::nodes
