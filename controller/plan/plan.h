// From a decision to the few writes that bring the world there, in an order that is safe to interrupt anywhere.
//
// Safety: a candidate that loses weight loses it on the nodes first, and the status follows. Everything else is written
// down first, so that a new leader never meets a node that is ahead of the status. Nothing to change: an empty plan.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
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

struct NodeHolds {
  std::string node;
  // Of what was last put on the way to it for this model (queued, sent or acknowledged), as nodes::SentModel has it;
  // "": nothing.
  std::string digest;
  bool concerned = true;  // Should hear of the model: it holds a version, or is a home of the model.
};

// `model.status` is what is stored now. Every node of `holds` is brought to what the decision says; leave out nodes
// that drain, they keep what they have for the requests that are left.
Plan MakePlan(const api::Model& model, const rollout::Decision& decision, const std::vector<NodeHolds>& holds);

// The same for a model that is deleted or has left the fleet: removed from every node that holds it.
Plan MakeRemoval(const std::string& served_name, const std::vector<NodeHolds>& holds);

// What the nodes should hold of a model.
struct Blueprint {
  std::string state;  // Serialized: a ModelState as of a node that loads none of its versions.
  rollout::Placement placement;
};
Blueprint MakeBlueprint(const api::Model& model, rollout::Placement placement);
control::ModelState StateFor(const Blueprint& blueprint, const std::string& node);

// The nodes that should hear of a model: where it is placed, and its homes among the peers (common/fleet/homes.h).
std::set<std::string> ConcernedNodes(const std::string& served_name, const rollout::Placement& placement,
                                     const rollout::NodeNames& peers);

// The fleet's part of a node's desired state. Peers are ordered by name.
control::FleetState BuildFleetState(const api::ServingFleet& fleet, std::vector<control::Peer> peers);

// The least message from one to the other: a PeersChange, or the whole where that is not all that differs.
control::FromController ChangeOf(const control::FleetState& before, const control::FleetState& now);

}  // namespace longshore::plan
