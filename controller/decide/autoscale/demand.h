// How many nodes a demand needs.
#pragma once

#include <vector>

#include "common/base/clock.h"
#include "controller/decide/autoscale/starts.h"

namespace longshore::autoscale {

double Seconds(Duration duration);

// A known demand. `node_capacity_per_second` is above 0.
struct Rates {
  double arrivals_per_second = 0;
  double node_capacity_per_second = 0;
  double queued = 0;
};

// The number of nodes, with a fraction, with which this utilization results.
double NodesAt(double utilization, const Rates& rates);

// The nodes that will share the load.
struct Supply {
  int ready = 0;
  std::vector<ComingNodes> coming{};  // The next ones first.
  Duration start_time{};              // When a node that is asked for now is expected.
};

// A queue is drained in at least this time, which begins when nodes that are asked for now are ready.
inline constexpr Duration kDrainMin = std::chrono::seconds(30);
inline constexpr Duration kDrainMax = std::chrono::minutes(5);

// The number of nodes, with a fraction, that serve all arrivals and also drain the queue. The queue is the one that is
// expected after one start time, because nodes that are asked for now cannot change it earlier. It is drained within
// one start time, but not below kDrainMin or above kDrainMax. Requests that wait at most `wait_target` do not count as
// a queue.
double NodesToDrain(const Rates& rates, const Supply& supply, Duration wait_target);

}  // namespace longshore::autoscale
