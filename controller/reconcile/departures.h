// Which nodes of a fleet leave when it shrinks, and when. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/api/sentences.h"
#include "controller/fleet/fleet.h"
#include "controller/reconcile/observe.h"

namespace longshore::reconcile {

// The placement of each Model that was decided, by served name.
using Placements = std::map<std::string_view, const rollout::Placement*>;

struct Departures {
  // The nodes that are to leave. Other nodes take over their versions first (see KnownNode::departing).
  std::set<std::string> chosen{};
  // Those of the chosen nodes that may leave now, because each of their ready versions is also ready on a node that
  // stays. In the order in which to stop them.
  std::vector<std::string> now{};
  // Why the other chosen nodes do not leave yet.
  std::vector<api::Sentence> waiting{};
};

// Chooses the nodes that are too many. First nodes that were chosen before; then those with the fewest versions that
// no other node has ready; among equals, the node that was started last. Nodes that are leaving already do not count.
// `nodes`: the nodes that have reported. `node_infos`: all nodes of the fleet. `count`: how many of them are too many.
// `placements`: a version that is ready on a node outside its placement does not count, because the node unloads it.
Departures DecideDepartures(const std::map<std::string, KnownNode>& nodes, std::vector<fleet::NodeInfo> node_infos,
                            int count, const Placements& placements);

// The draining nodes that alone have a version ready. Peers may still forward requests to them while they answer.
std::set<std::string> LastHolders(const std::map<std::string, KnownNode>& nodes);

}  // namespace longshore::reconcile
