// From what the nodes say to what the decisions read. Pure, except for the memory of what a lost node said last.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/fleet/fleet.h"
#include "controller/nodes/nodes.h"
#include "controller/rollout/rollout.h"

namespace longshore::reconcile {

// A node that can be given work: it has reported on its stream, or its stream ended less than the patience ago.
struct KnownNode {
  nodes::NodeView view;   // `view.report` is there.
  bool attached = false;  // Can be sent messages now.
};

// Remembers the last report of nodes whose stream ended, so that a node that is restarted, or dials again, does not
// make every model move. Belongs to one thread.
class NodeMemory {
 public:
  explicit NodeMemory(Duration patience) : patience_(patience) {}

  // `processes`: the nodes that the fleet has. One that it has not is forgotten at once.
  std::vector<KnownNode> Update(const std::string& fleet, const std::vector<nodes::NodeView>& views,
                                const std::vector<fleet::NodeInfo>& processes, MonotonicPoint now);

 private:
  struct Remembered {
    nodes::NodeView view;
    MonotonicPoint at;
  };
  const Duration patience_;
  std::map<std::string, std::map<std::string, Remembered>> fleets_;
};

// Whether the report tells of all that the node was sent. Otherwise its verdicts may be about an earlier attempt.
bool IsFresh(const nodes::NodeView& view);

// What the node's report says of one model. A report about an older state than the node was last sent brings no
// verdicts: no guard's trip, no golden result, no failure.
rollout::NodeSeen SeenOf(const KnownNode& node, const std::string& served_name, bool leaving);

// The highest version that any node tells of under the model's source.
std::optional<int64_t> LatestVersion(const std::vector<KnownNode>& nodes, const std::string& served_name);

// Whether every version that should answer on the node does.
bool IsReady(const KnownNode& node);

// The nodes of a fleet in the order in which their loss costs least: first those that hold no version alone, and of
// equals the one that was started last.
std::vector<std::string> LeaveFirst(const std::vector<KnownNode>& nodes, std::vector<fleet::NodeInfo> machines);

// What its peers may forward to it.
control::Peer PeerOf(const nodes::NodeView& view);

}  // namespace longshore::reconcile
