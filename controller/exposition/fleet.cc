#include <map>
#include <string>

#include "controller/exposition/conditions.h"
#include "controller/exposition/exposition.h"

namespace longshore::exposition {
namespace {

using metrics::Exposition;
using metrics::Labels;
using metrics::Name;

constexpr Name kCondition{"longshore_fleet_condition", "1 while the fleet's condition is True."};
constexpr Name kMin{"longshore_fleet_replicas_min", "The least nodes of the spec."};
constexpr Name kMax{"longshore_fleet_replicas_max", "The most nodes of the spec."};
constexpr Name kWanted{"longshore_fleet_replicas_wanted", "Nodes that the fleet should have now."};
constexpr Name kReplicas{"longshore_fleet_replicas", "Nodes that it has, without those that are leaving."};
constexpr Name kReady{"longshore_fleet_replicas_ready", "Nodes that are ready."};
constexpr Name kNodes{"longshore_fleet_nodes", "Nodes, also those that are leaving, by state."};
constexpr Name kReason{"longshore_fleet_autoscale_reason", "1, with why as many nodes are wanted."};
constexpr Name kPressure{"longshore_fleet_autoscale_pressure_ratio",
                         "The signal that the reason names, of its target: above 1 more nodes are wanted."};

void ShowAutoscaling(const api::AutoscaleStatus& status, const Labels& fleet, Exposition* out) {
  Labels labels = fleet;
  labels["reason"] = status.reason;
  out->Set(kReason, labels, 1);
  if (status.target > 0) out->Set(kPressure, fleet, status.value / status.target);
}

}  // namespace

void Show(const api::ServingFleet& fleet, Exposition* out) {
  const api::Metadata& metadata = fleet.metadata;
  const Labels labels{{"namespace", metadata.namespace_},
                      {"name", metadata.name},
                      {"fleet", metadata.namespace_ + "/" + metadata.name}};
  const bool scaled = fleet.spec.autoscaling && !fleet.status.autoscale.reason.empty();
  ShowConditions(kCondition, labels, fleet.status.conditions, out);
  out->Set(kMin, labels, fleet.spec.replicas_min);
  out->Set(kMax, labels, fleet.spec.replicas_max);
  out->Set(kWanted, labels, scaled ? fleet.status.autoscale.desired : fleet.spec.replicas_min);
  out->Set(kReplicas, labels, fleet.status.replicas);
  out->Set(kReady, labels, fleet.status.ready_replicas);
  for (const char* state : {"Starting", "Ready", "Draining", "Restarting"}) {
    Labels of_state = labels;
    of_state["state"] = state;
    const auto count =
        std::ranges::count(fleet.status.nodes, state, [](const auto& node) { return std::string_view(node.state); });
    out->Set(kNodes, of_state, static_cast<double>(count));
  }
  if (scaled) ShowAutoscaling(fleet.status.autoscale, labels, out);
}

}  // namespace longshore::exposition
