// What a decision depends on, and how many nodes are needed then.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "controller/api/types.h"
#include "controller/decide/autoscale/demand.h"
#include "controller/decide/autoscale/fleet_metrics.h"
#include "controller/decide/autoscale/reading.h"

namespace longshore::autoscale {

// Everything that a decision depends on, except for the status of the last one.
struct Scene {
  const api::ServingFleetSpec& spec;  // With autoscaling.
  const Input& input;
  std::vector<Reading> readings;  // The utilization is the last one.
  std::optional<Rates> rates;
  TimePoint now;

  const api::Autoscaling& autoscaling() const { return *spec.autoscaling; }
  const Reading& utilization() const { return readings.back(); }
  int replicas() const { return input.replicas; }
  int measured() const { return std::clamp(input.metrics.nodes_measured, 0, replicas()); }
  // How long metrics may be missing before a time that began earlier begins again.
  Duration Gap() const { return 2 * autoscaling().metrics_age_max; }
  // How long requests must wait without a reason until nodes are added. Rates from Prometheus still show the time
  // before a change for twice metrics_age_max.
  Duration Patience() const { return 3 * autoscaling().metrics_age_max; }
};

// The number of nodes that is at least `nodes`.
int RoundUp(double nodes);

// The nodes, with a fraction, with which the present demand causes this utilization; nullopt if the demand is unknown.
// If only the utilization is known, it stands for the demand.
std::optional<double> NodesAt(double utilization, const Scene& scene);

// The nodes that are needed to serve the demand and to drain the queue; 0 if the demand is unknown. A utilization
// within the dead band is at its target.
int Needed(const Scene& scene, const api::AutoscaleStatus& status);

// Whether so many requests wait that the queue delay will stay above its target until they have run.
bool IsDraining(const Scene& scene);

// Whether the measured nodes are mostly idle. If requests wait nevertheless, more nodes do not help: for example, one
// run takes longer than the objective, or all requests go to one node.
bool IsMostlyIdle(const Scene& scene);

// Whether all queue delays and latencies are so far below their targets that fewer nodes may be enough.
bool IsCalm(const Scene& scene);

// The smallest sufficient number of nodes: at least the minimum, at most the present number.
int Enough(const Scene& scene, const api::AutoscaleStatus& status);

}  // namespace longshore::autoscale
