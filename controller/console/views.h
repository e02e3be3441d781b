// The JSON that the pages of the console read. Pure; docs/console.md describes the JSON.
//
// Sentences about a state are those of the command line (controller/cli/text), so both say the same.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/json/json.h"
#include "controller/api/types.h"
#include "controller/console/history.h"
#include "controller/console/snapshot.h"
#include "controller/nodes/nodes.h"

namespace longshore::console {

// What the controller says about itself.
struct ControllerSeen {
  std::string version{};
  std::string problem{};  // Why it does not reconcile; "": it does.
};

// A part of every answer.
Json ControllerJson(const ControllerSeen& controller);

Json OverviewJson(const Snapshot& snapshot, TimePoint now);
Json ModelJson(const api::Model& model, const Snapshot& snapshot, TimePoint now);
// `nodes`: those of the fleet.
Json FleetJson(const api::ServingFleet& fleet, const std::vector<nodes::ViewPtr>& nodes, const Snapshot& snapshot,
               TimePoint now);
// `rollout`: the RolloutStatus::id of the Model now. Pairs of an earlier rollout are left out.
Json HistoryJson(const ModelHistory& history, const std::string& rollout, TimePoint now);

}  // namespace longshore::console
