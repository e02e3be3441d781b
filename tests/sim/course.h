// Runs rollouts in simulated worlds, judged by our analysis.
#pragma once

#include <functional>
#include <string>

#include "tests/sim/recording.h"
#include "tests/sim/service.h"

namespace longshore::sim {

enum class End { kPromoted, kRolledBack, kInconclusive };

// How a rollout went.
struct Course {
  End end = End::kInconclusive;
  std::string reason;  // Of the last verdict.
  double seconds = 0;
  int64_t candidate_requests = 0;
  int64_t requests = 0;
  int64_t pairs = 0;
};

struct Ladder {
  api::ModelSpec spec;            // Its steps, their proofs and the tests.
  int baseline_requests = 1000;   // Of stable before the rollout.
  double look_every_seconds = 1;  // Time between two uses of the evidence.
};

// What is known after a use of the evidence.
struct Look {
  double seconds = 0;
  double weight_percent = 0;
  const api::Verdict& verdict;
};

// Runs a rollout through the steps of the spec until it is promoted or rolled back, or its patience ends. Calls `look`,
// if there is one, after each use of the evidence.
Course RunLadder(const World& world, const Ladder& ladder, uint64_t seed,
                 const std::function<void(const Look&)>& look = nullptr);

// Lets the candidate have one weight for as long as `seconds_max`, and returns how the rollout went until it was rolled
// back; kInconclusive if it was not.
struct Watch {
  double candidate_share = 0.25;
  double seconds_max = 2400;
};
// Records the whole time for the peers, unless `recording` is nullptr.
Course RunWatch(const World& world, const Ladder& ladder, const Watch& watch, uint64_t seed,
                Recording* recording = nullptr);

}  // namespace longshore::sim
