#include "controller/decide/autoscale/demand.h"

#include <algorithm>

namespace longshore::autoscale {
namespace {

// The queue after one start time, if nothing is decided now.
double QueueAhead(const Rates& rates, const Supply& supply) {
  double queued = rates.queued;
  double nodes = supply.ready;
  Duration at{0};
  const auto advance = [&](Duration to) {
    const double growth_per_second = rates.arrivals_per_second - nodes * rates.node_capacity_per_second;
    queued = std::max(0.0, queued + growth_per_second * Seconds(to - at));
    at = to;
  };
  for (const ComingNodes& coming : supply.coming) {
    advance(std::clamp(coming.in, at, std::max(at, supply.start_time)));
    nodes += coming.nodes;
  }
  advance(std::max(at, supply.start_time));
  return queued;
}

}  // namespace

double Seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }

double NodesAt(double utilization, const Rates& rates) {
  return rates.arrivals_per_second / rates.node_capacity_per_second / utilization;
}

double NodesToDrain(const Rates& rates, const Supply& supply, Duration wait_target) {
  const double waits_as_allowed = rates.arrivals_per_second * Seconds(wait_target);
  const double too_many = std::max(0.0, QueueAhead(rates, supply) - waits_as_allowed);
  const double drained_per_second = too_many / Seconds(std::clamp(supply.start_time, kDrainMin, kDrainMax));
  return (rates.arrivals_per_second + drained_per_second) / rates.node_capacity_per_second;
}

}  // namespace longshore::autoscale
