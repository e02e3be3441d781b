// How many nodes a fleet should have.
//
// Up at once when users wait: queue delay or latency above target, or slots busier than their target; in proportion, at
// most doubling, one step per cooldown. Down only when every signal proves for the whole stabilisation window that
// fewer nodes are enough. A signal that is unknown, stale, negative or not a number proves nothing, and signals that do
// not tell of every ready node prove at most that users wait.
//
// Pure. A status that need not change is returned unchanged, so that a steady state writes nothing.
#pragma once

#include <optional>
#include <string>

#include "common/clock.h"
#include "controller/api/types.h"

namespace longshore::autoscale {

// A measurement is a value, the proof that there was nothing to measure, or not known. Zero is never made of "unknown".
enum class Presence { kUnknown, kIdle, kValue };
struct Signal {
  Presence presence = Presence::kUnknown;
  double value = 0;
  TimePoint at;  // Of the oldest sample in it.
};

struct FleetMetrics {
  Signal queue_delay_seconds;  // Mean wait of a request for a run slot.
  Signal latency_seconds;      // At the strictest SLO's quantile; only read when there is a target.
  Signal utilization;          // Busy share of all run slots, 0..1.
  int nodes_missing = 0;       // Ready nodes that the signals do not tell of.
};

struct Input {
  FleetMetrics metrics;
  std::optional<Duration> latency_target;  // The strictest SLO among the fleet's models.
  int replicas = 0;                        // Wanted now, those still starting included.
};

// status.autoscale of the fleet, next. `desired` is within the bounds of the spec.
api::AutoscaleStatus Decide(const api::ServingFleetSpec& spec, const api::AutoscaleStatus& before, const Input& input,
                            TimePoint now);

}  // namespace longshore::autoscale
