// From a decision to the few writes that bring the world there, in an order that is safe to interrupt anywhere.
//
// Safety: a candidate that loses weight loses it on the nodes first, and the status follows. Everything else is written
// down first, so that a new leader never meets a node that is ahead of the status. Nothing to change: an empty plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "controller/api/types.h"
#include "controller/rollout/rollout.h"
#include "longshore/control.pb.h"

namespace longshore::plan {

// Bring one model on one node to this state; nullopt removes it.
struct SendModel {
  std::string node;
  std::string served_name;
  std::optional<control::ModelState> state;
};
struct WriteStatus {
  api::ModelStatus status;
};
using Action = std::variant<SendModel, WriteStatus>;
using Plan = std::vector<Action>;

// What was last put on the way to a node for this model (queued, sent or acknowledged); nullopt: nothing.
struct NodeHolds {
  std::string node;
  std::optional<control::ModelState> state;
};

// `model.status` is what is stored now. Every node of `holds` is brought to what the decision says; leave out nodes
// that drain, they keep what they have for the requests that are left.
Plan MakePlan(const api::Model& model, const rollout::Decision& decision, const std::vector<NodeHolds>& holds);

// The same for a model that is deleted or has left the fleet: removed from every node that holds it.
Plan MakeRemoval(const std::string& served_name, const std::vector<NodeHolds>& holds);

// What one node should hold of a model.
control::ModelState BuildModelState(const api::Model& model, const rollout::Placement& placement,
                                    const std::string& node);

// The fleet's part of a node's desired state. Peers are ordered by name.
control::FleetState BuildFleetState(const api::ServingFleet& fleet, std::vector<control::Peer> peers);

// Whether two states would make a node do the same. (Maps have no order on the wire.)
bool Same(const control::ModelState& a, const control::ModelState& b);

}  // namespace longshore::plan
