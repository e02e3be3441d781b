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
constexpr Name kMin{"longshore_fleet_replicas_min", "Minimum number of nodes in the spec."};
constexpr Name kMax{"longshore_fleet_replicas_max", "Maximum number of nodes in the spec."};
constexpr Name kWanted{"longshore_fleet_replicas_wanted", "Number of nodes that the fleet should have now."};
constexpr Name kReplicas{"longshore_fleet_replicas", "Number of nodes of the fleet, without nodes that are leaving."};
constexpr Name kReady{"longshore_fleet_replicas_ready", "Number of nodes that are ready."};
constexpr Name kNodes{"longshore_fleet_nodes", "Number of nodes by state, including nodes that are leaving."};
constexpr Name kReason{"longshore_fleet_autoscale_reason",
                       "Always 1; the labels have the reason for the wanted number of nodes."};
constexpr Name kPressure{
    "longshore_fleet_autoscale_pressure_ratio",
    "The signal that decided the number of nodes divided by its target: above 1, more nodes are wanted."};

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
  for (const char* state : {"Starting", "Ready", "Draining", "Restarting", "NotAnswering"}) {
    Labels of_state = labels;
    of_state["state"] = state;
    const auto count =
        std::ranges::count(fleet.status.nodes, state, [](const auto& node) { return std::string_view(node.state); });
    out->Set(kNodes, of_state, static_cast<double>(count));
  }
  if (scaled) ShowAutoscaling(fleet.status.autoscale, labels, out);
}

}  // namespace longshore::exposition
