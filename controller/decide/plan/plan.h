// Computes the writes and messages that carry out a decision, in an order that is safe to interrupt at any point.
//
// If a candidate loses weight, the nodes are told before the status is stored, because a bad candidate must stop soon.
// Everything else is stored first, so that a new leader never finds a node that is ahead of the status. If nothing
// changes, the plan is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "controller/api/types.h"
#include "controller/decide/rollout/rollout.h"
#include "longshore/control.pb.h"

namespace longshore::plan {

// Sends the state of one model to one node; nullopt removes the model.
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

struct NodeHolds {
  std::string node;
  // Digest of the last state of this model that was queued, sent or acknowledged (see nodes::SentModel); "": none.
  std::string digest;
  // Whether the node should receive the state of the model, because it holds a version or is a home node.
  bool recipient = true;
};

// `model.status` is the stored status. Each recipient in `holds` gets the state that follows from the decision; the
// model is removed from the other nodes that hold it. Leave out draining nodes, which keep their state for the
// remaining requests.
Plan MakePlan(const api::Model& model, const rollout::Decision& decision, const std::vector<NodeHolds>& holds);

// The plan for a model that is deleted or has left the fleet: removes it from each node that holds it.
Plan MakeRemoval(const std::string& served_name, const std::vector<NodeHolds>& holds);

// The state of a model for all nodes; see StateFor for one node.
struct Blueprint {
  std::string state;  // Serialized ModelState for a node that loads no version of the model.
  rollout::Placement placement;
};
Blueprint MakeBlueprint(const api::Model& model, rollout::Placement placement);
control::ModelState StateFor(const Blueprint& blueprint, const std::string& node);

// The nodes that receive the state of a model: the nodes in its placement, and its home nodes among the peers
// (common/node_contract/homes.h).
std::set<std::string> RecipientNodes(const std::string& served_name, const rollout::Placement& placement,
                                     const rollout::NodeNames& peers);

// The fleet part of the desired state of a node. Peers are ordered by name.
control::FleetState BuildFleetState(const api::ServingFleet& fleet, std::vector<control::Peer> peers);

// The shortest message that changes one state to the other: a PeersChange if only peers differ, otherwise the whole
// fleet part.
control::FromController ChangeOf(const control::FleetState& before, const control::FleetState& now);

}  // namespace longshore::plan
