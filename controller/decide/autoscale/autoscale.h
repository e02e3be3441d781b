// Decides how many nodes a fleet should have.
//
// Up: if requests wait (queue delay or the latency of a Model is above its target) or the nodes are too busy, the fleet
// gets as many nodes as its demand needs: the arriving requests at the target for the utilization, and the queue
// drained in a stated time (demand.h). The demand is divided by the measured capacity of a ready node, and compared
// with all wanted nodes: a node that was asked for and still starts is capacity that is coming (starts.h), so nothing
// is asked for twice. If requests wait although the fleet has what its demand needs and all nodes are measured, or if
// the demand is unknown, the fleet gets a quarter more nodes at most, once this has lasted for twice `metrics_age_max`.
// It then keeps its utilization below the one at which requests waited (UtilizationLimit), so that it does not swing.
//
// Down: only if all signals show for the whole stabilization window that fewer nodes are enough. Where the nodes are
// mostly idle, requests do not wait for want of nodes, and queue delay and latencies keep no node.
//
// A signal that is unknown, outdated, negative or NaN never causes a change; signals that do not cover all ready nodes
// can only cause a scale-up.
//
// Pure. Everything that a later decision needs is in the status. A status that need not change is returned unchanged,
// so that a steady state causes no writes.
#pragma once

#include "common/base/clock.h"
#include "controller/api/types.h"
#include "controller/decide/autoscale/fleet_metrics.h"

namespace longshore::autoscale {

// The next status.autoscale of the fleet. `desired` is within the bounds of the spec.
api::AutoscaleStatus Decide(const api::ServingFleetSpec& spec, const api::AutoscaleStatus& before, const Input& input,
                            TimePoint now);

}  // namespace longshore::autoscale
