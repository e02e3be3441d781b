// What autoscaling reads about a fleet. Every value may be unknown, and none is replaced by a number then.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"

namespace longshore::autoscale {

// kIdle: it is certain that there was nothing to measure. kUnknown never counts as zero.
enum class Presence { kUnknown, kIdle, kValue };
struct Signal {
  Presence presence = Presence::kUnknown;
  double value = 0;
  TimePoint at;  // Time of its oldest sample.
};

// The latency objective of a Model.
struct LatencyObjective {
  std::string model;  // Its served name.
  double quantile = 0.99;
  Duration target{};  // Above 0.

  friend bool operator==(const LatencyObjective&, const LatencyObjective&) = default;
};

// The latency of one Model and its objective.
struct ModelLatency {
  std::string model;  // Its served name.
  Duration target{};  // Above 0.
  Signal seconds;     // At the objective's quantile.
};

// What the clients ask of the fleet, and what one node can do.
struct Demand {
  Signal arrivals_per_second;       // Requests, including those that were refused.
  Signal node_capacity_per_second;  // Requests that a ready node runs per second while all its run slots are busy.
  Signal queued;                    // Requests that wait now, on all nodes.
};

struct FleetMetrics {
  Signal queue_delay_seconds;           // Mean wait of a request for a run slot.
  std::vector<ModelLatency> latencies;  // One per Model with a latency objective.
  Signal utilization;                   // Busy share of all run slots, 0..1.
  int nodes_measured = 0;               // Nodes that the signals cover.
  int nodes_missing = 0;                // Ready nodes that the signals do not cover.
  Demand demand;
};

struct Input {
  FleetMetrics metrics;
  int replicas = 0;  // Number of wanted nodes at present, including nodes that are starting.
  int ready = 0;     // How many of them are ready.
};

}  // namespace longshore::autoscale
