// The JSON that the pages of the console read. Pure; docs/console.md describes the JSON.
//
// Sentences about a state are those of the command line (controller/cli/text), so both say the same.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/json/json.h"
#include "controller/api/types.h"
#include "controller/cli/text/standing.h"
#include "controller/console/history.h"
#include "controller/nodes/nodes.h"
#include "controller/store/store.h"

namespace longshore::console {

using cli::text::HostSeen;

// Everything that the store holds.
struct Objects {
  std::vector<api::ServingFleet> fleets;
  std::vector<api::Model> models;
  std::vector<store::Unreadable> unreadable;
};

// What the controller says about itself.
struct ControllerSeen {
  std::string version{};
  int64_t epoch = 0;
  std::string problem{};  // Why it does not reconcile; "": it does.
};

Json OverviewJson(const Objects& objects, const ControllerSeen& controller);
Json ModelJson(const api::Model& model, const HostSeen& seen, TimePoint now);
// `models`: those of the fleet.
Json FleetJson(const api::ServingFleet& fleet, const std::vector<nodes::ViewPtr>& nodes,
               const std::vector<api::Model>& models, const HostSeen& seen);
Json HistoryJson(const ModelHistory& history);

}  // namespace longshore::console
