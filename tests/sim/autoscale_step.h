// How many nodes autoscaling asks for when the load doubles in one moment.
#pragma once

#include <cstdint>
#include <vector>

namespace longshore::sim {

struct StepOptions {
  double from_per_second = 300;
  double to_per_second = 600;
  std::vector<double> start_seconds = {5, 10, 30, 60, 120};  // Of a node, from asked to ready.
  int trials = 5;                                            // Per start time; each has its own random arrivals.
  uint64_t seed = 1;
};

struct StepRow {
  double start_seconds = 0;
  int need = 0;       // The fewest nodes that serve the new load.
  int asked_max = 0;  // The largest number of wanted nodes at any moment of any trial.
  double drained_after_seconds =
      0;  // From the step until requests wait no longer than the target, in the slowest trial.

  double Ratio() const { return static_cast<double>(asked_max) / need; }
};

// Simulates a fleet with the default targets, whose nodes run four requests at a time for 50 ms each, first at one load
// and then at the other one. One row per start time.
std::vector<StepRow> RunAutoscaleSteps(const StepOptions& options);

// The nodes of a fleet: each runs `slots` requests at a time, each for `run_seconds` on average.
struct NodeSpeed {
  int slots = 4;
  double run_seconds = 0.05;
};
// The fewest nodes with which at most one of a hundred requests waits longer than 100 ms, if requests arrive at random
// and the nodes share one queue (Erlang's C formula). No fleet with a queue per node needs fewer.
int NodesThatServe(double requests_per_second, NodeSpeed speed);

}  // namespace longshore::sim
