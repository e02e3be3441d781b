// Many simulated rollouts: how often a version that equals stable is rolled back or promoted, and what happens to a
// worse one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/cells.h"
#include "tests/sim/share.h"

namespace longshore::sim {

// The rollouts of one kind of world.
struct Ends {
  Share rolled_back;
  Share promoted;
  Share promoted_in_time;              // Within the time of TimeToPass.
  int64_t requests = 0;                // In all rollouts together.
  std::map<std::string, int> reasons;  // Of the rollbacks.
};
// How soon an equal version should be promoted at this traffic, in seconds.
double TimeToPass(double requests_per_second);

// Many rollouts. Uses `threads` threads; the result does not depend on their number.
struct Rollouts {
  int count = 10000;
  uint64_t seed = 1;
  int threads = 1;
  uint64_t first = 0;  // The number of the first rollout, from which its own seed follows.
};
// Calls `run` with the index of each rollout and with its own seed, in many threads.
void ForEachRollout(const Rollouts& rollouts, const std::function<void(size_t rollout, uint64_t seed)>& run);
// Runs rollouts of a version against itself.
Ends RunEqual(Kind kind, double requests_per_second, const Rollouts& rollouts);

// Runs default rollouts of a candidate that fails twice as often as stable.
Ends RunDoubledErrors(double requests_per_second, const Rollouts& rollouts);

// The number of the candidate's requests, or of pairs, until the rollback, at a constant weight of 25 %. A rollout
// without a rollback counts as infinitely many.
struct Delay {
  Share found;
  double median = 0;  // 0 if more than half of the rollouts had no rollback.
  double p90 = 0;
  double median_pairs = 0;
};
// The candidate gets its weight for 40 minutes or, at low traffic, until this many requests have been answered.
inline constexpr double kWatchSecondsMin = 40 * 60;
inline constexpr double kWatchRequestsMin = 24000;
Watch WatchFor(const World& world);
Delay RunFault(const World& world, const Rollouts& rollouts);
Delay RunFault(const Case& fault, const Rollouts& rollouts);

}  // namespace longshore::sim
