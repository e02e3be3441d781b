// Decides how many nodes a fleet should have.
//
// Scales up at once when users wait: when queue delay, the latency of a Model, or utilization is above its target. The
// step is proportional, at most a doubling, and limited to one per cooldown. Scales down only if all signals show for
// the whole stabilization window that fewer nodes are enough. A signal that is unknown, outdated, negative or NaN
// never causes a change; signals that do not cover all ready nodes can only cause a scale-up.
//
// A signal is multiplied by the number of nodes on which it was measured; nodes that are still starting do not count.
// As in the HorizontalPodAutoscaler of Kubernetes, an unmeasured node counts as idle if the signal asks for more nodes,
// and as exactly at its target if the signal allows fewer.
//
// Pure. A status that need not change is returned unchanged, so that a steady state causes no writes.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::autoscale {

// kIdle: it is certain that there was nothing to measure. kUnknown never counts as zero.
enum class Presence { kUnknown, kIdle, kValue };
struct Signal {
  Presence presence = Presence::kUnknown;
  double value = 0;
  TimePoint at;  // Time of its oldest sample.
};

// The latency of one Model and its objective.
struct ModelLatency {
  std::string model;  // Its served name.
  Duration target{};  // Above 0.
  Signal seconds;     // At the objective's quantile.
};

struct FleetMetrics {
  Signal queue_delay_seconds;           // Mean wait of a request for a run slot.
  std::vector<ModelLatency> latencies;  // One per Model with a latency objective.
  Signal utilization;                   // Busy share of all run slots, 0..1.
  int nodes_measured = 0;               // Nodes that the signals cover.
  int nodes_missing = 0;                // Ready nodes that the signals do not cover.
};

struct Input {
  FleetMetrics metrics;
  int replicas = 0;  // Number of wanted nodes at present, including nodes that are starting.
};

// The next status.autoscale of the fleet. `desired` is within the bounds of the spec.
api::AutoscaleStatus Decide(const api::ServingFleetSpec& spec, const api::AutoscaleStatus& before, const Input& input,
                            TimePoint now);

}  // namespace longshore::autoscale
