// The signals of a fleet with their targets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "controller/decide/autoscale/demand.h"
#include "controller/decide/autoscale/fleet_metrics.h"

namespace longshore::autoscale {

// One signal with its target.
struct Reading {
  std::string reason;  // "QueueDelay", "Latency", "Utilization".
  std::string what;    // Name of the signal for users: "Latency of digits".
  double value = 0;
  double target = 0;
  TimePoint at;
  bool known = false;
  bool proportional = false;  // Whether the value halves if the number of nodes doubles; true only of utilization.

  double Ratio() const { return value / target; }
  bool IsAboveTarget() const;
  // For example "QueueDelay 0.02 s is above 0.01 s". The utilization is a share, which has no unit.
  std::string AboveTarget() const;
};

// A utilization that is within this share of its target counts as at its target.
inline constexpr double kDeadBand = 0.1;

// Returns the queue delay, the latency of each Model with an objective, and the utilization, in this order. A signal
// that is too old, from the future, negative or not finite is not known.
std::vector<Reading> ReadAll(const api::Autoscaling& spec, const FleetMetrics& metrics, TimePoint now);

// Returns nullopt if the arrivals or the capacity of a node are not known. An unknown queue counts as empty.
std::optional<Rates> ReadDemand(const api::Autoscaling& spec, const Demand& demand, TimePoint now);

// The queue delay or latency that is furthest above its target; nullptr if none is above it.
const Reading* FurthestDelay(const std::vector<Reading>& readings);

}  // namespace longshore::autoscale
