// Converts reports of nodes to the input of the decisions. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "controller/decide/rollout/rollout.h"
#include "controller/fleet/fleet.h"
#include "controller/nodes/nodes.h"

namespace longshore::reconcile {

// A node that can be given work: it has reported on its stream, or its stream ended less than the grace time ago.
struct KnownNode {
  nodes::ViewPtr view{};     // Always contains a report.
  bool attached = false;     // Whether it is connected, so that messages can be sent to it.
  bool leaving = false;      // Whether the fleet is stopping it.
  MonotonicPoint lost_at{};  // When its stream ended; set if not attached.
  bool ready = false;        // The result of IsReady for this view.
  // Whether the node is to be stopped once other nodes have its versions. It gets no new versions, and keeps those it
  // has ready.
  bool departing = false;
};

// Whether the node is leaving or draining, and therefore gets no new work.
bool IsDraining(const KnownNode& node);

// Whether the report reflects the last state that the node was sent. If not, its verdicts may be about an earlier
// attempt.
bool IsFresh(const nodes::NodeView& view);

// Converts one node's reports on the versions of a model. If not `fresh` (see IsFresh), verdicts are dropped: guard
// trips, golden results and failures.
std::map<int64_t, rollout::VersionSeen> SeenOf(const std::vector<const control::VersionReport*>& versions, bool fresh);

rollout::SourceSeen SeenOf(const control::SourceReport& source);
rollout::RulesSeen SeenOf(const control::RulesReport& rules);

// The highest version that exists in the source of the model; nullopt if the reports contain none.
std::optional<int64_t> LatestVersion(const std::vector<const control::VersionReport*>& versions);

// Whether the node can answer for each version that has weight and that it should load: the version is ready there, or
// it failed there and is ready on another node, to which the node forwards the requests.
bool IsReady(const nodes::NodeView& view);

// Returns the entry of this node in the list of peers. The nodes in the list may forward requests to each other.
control::Peer PeerOf(const nodes::NodeView& view);

}  // namespace longshore::reconcile
