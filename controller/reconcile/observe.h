// From what the nodes say to what the decisions read. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/fleet/fleet.h"
#include "controller/nodes/nodes.h"
#include "controller/rollout/rollout.h"

namespace longshore::reconcile {

// A node that can be given work: it has reported on its stream, or its stream ended less than the patience ago.
struct KnownNode {
  nodes::ViewPtr view{};     // With a report.
  bool attached = false;     // Can be sent messages.
  bool leaving = false;      // Its machine was told to stop.
  MonotonicPoint lost_at{};  // When it was not attached any more.
  bool ready = false;        // By IsReady, of this view.
};

// Gets no new work.
bool IsDraining(const KnownNode& node);

// Whether the report tells of all that the node was sent. Otherwise its verdicts may be about an earlier attempt.
bool IsFresh(const nodes::NodeView& view);

// What a node's reports about versions of one model say. `fresh`: as IsFresh; those about an older state than the node
// was last sent bring no verdicts: no guard's trip, no golden result, no failure.
std::map<int64_t, rollout::VersionSeen> SeenOf(const std::vector<const control::VersionReport*>& versions, bool fresh);

rollout::SourceSeen SeenOf(const control::SourceReport& source);

// The highest version that they tell of under the model's source.
std::optional<int64_t> LatestVersion(const std::vector<const control::VersionReport*>& versions);

// Whether every version that should answer on the node does.
bool IsReady(const nodes::NodeView& view);

// The nodes of a fleet in the order in which their loss costs least: first those that hold no version alone, and of
// equals the one that was started last.
std::vector<std::string> LeaveFirst(const std::map<std::string, KnownNode>& nodes,
                                    std::vector<fleet::NodeInfo> machines);

// What its peers may forward to it.
control::Peer PeerOf(const nodes::NodeView& view);

}  // namespace longshore::reconcile
