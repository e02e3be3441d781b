// Nodes that were asked for, and how long nodes of this fleet take to start.
//
// Both are in the status, so that they survive a restart of the controller. The functions know only how many nodes are
// ready, not which. The wanted nodes that are not ready and were not asked for are nodes that became unready again.
#pragma once

#include <vector>

#include "controller/api/types.h"

namespace longshore::autoscale {

struct Change {
  int from = 0;
  int to = 0;
};
// Records a change of the number of wanted nodes: more nodes are asked for now; if fewer are wanted, the newest of the
// asked nodes are forgotten.
void NoteWanted(api::AutoscaleStatus& status, Change wanted, TimePoint now);

struct Nodes {
  int wanted = 0;
  int ready = 0;
};
// Records that asked nodes became ready, the oldest first, with the time that they took. Nodes that were asked for
// together and became ready together count as one start.
void NoteReady(api::AutoscaleStatus& status, Nodes nodes, TimePoint now);

// How late a node may be. A later one may never come.
inline constexpr Duration kLateMax = std::chrono::minutes(5);
// Whether asked nodes are expected that are not later than kLateMax.
bool ExpectsNodes(const api::AutoscaleStatus& status, TimePoint now);

// The time in which nine of ten nodes became ready, from the last ten measured starts; 30 s if none was measured.
Duration StartTimeOf(const api::AutoscaleStatus& status);

// Nodes that are expected to become ready at the same time.
struct ComingNodes {
  Duration in{};  // From now.
  int nodes = 0;

  friend bool operator==(const ComingNodes&, const ComingNodes&) = default;
};

// The wanted nodes that are not ready, the next ones first. A node is expected one start time after it was asked for,
// and one that became unready again one start time from now. A node that is late is expected at any moment: to ask for
// more nodes does not make it come.
std::vector<ComingNodes> ComingOf(const api::AutoscaleStatus& status, Nodes nodes, TimePoint now);

}  // namespace longshore::autoscale
