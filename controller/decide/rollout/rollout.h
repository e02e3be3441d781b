// Moves a model from its serving version to the wanted version.
//
//   None ──► Validating ──► Loading ──► Step 0 ──► … ──► Promoting ──► Completed
//             │ rehearsal and │ on the │  ▲ weight, hold,   ▲ on all      the old version stays loaded
//             │ golden set    │ first  │  │ evidence,       │ nodes       for keepWarm
//             │ on one node   │ node(s)│  │ manual pause    │
//             │               │        ▼  │                 │
//             │               │       Shadow, Preview ──────┘  weight 0: pairs, previews, manual pause
//             └───────────────┴──► RolledBack ◄── from each phase; final until the spec changes or a user commands
//             retry
//
// Strategy Canary with `shadow` goes from Shadow to the steps; the strategies Shadow (from Shadow) and BlueGreen (from
// Preview) have no steps.
//
// Pure: the same input always gives the same decision. What must survive a restart is in ModelStatus.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "controller/api/types.h"
#include "controller/decide/rollout/types.h"

namespace longshore::rollout {

// Decides the next move. Goes as far as the observations allow, but at most to the next change of weight, because what
// follows depends on how nodes and users react to that change. Call it again after applying the decision. Reads uid and
// generation from `model.metadata` and the earlier decision from `model.status`.
Decision Decide(const api::Model& model, const Observed& observed, TimePoint now);

// Why Decide does not start a rollout; "" if it does, or if a rollout is under way.
std::string WhyNoRollout(const api::Model& model, const Observed& observed, TimePoint now);

// Whether the newest version has been rolled back already, so that undo would leave a version that serves well.
bool WouldUndoLeaveAGoodVersion(const api::ModelStatus& status);

// The version that served until the command undo left it, to which `undo --to` would return now; nullopt if there is
// none or the command would be refused.
std::optional<int64_t> VersionToReturnTo(const api::Model& model);

// The placement that follows from the current status alone. Used while a new decision cannot be stored.
Placement PlacementNow(const api::Model& model, const Observed& observed, TimePoint now);

// Refuses all commands of a Model for which no decisions are made, for this reason.
void RefuseCommands(api::ModelStatus& status, const std::string& why, TimePoint now);

// Whether the two statuses differ only in the evidence, its times and the verdict, and both verdicts have the same
// result.
bool OnlyEvidenceIsNew(const api::ModelStatus& before, const api::ModelStatus& after);

// Whether the two statuses differ only in the states of versions on nodes and in the messages of conditions.
bool OnlyDetailsAreNew(const api::ModelStatus& before, const api::ModelStatus& after);

}  // namespace longshore::rollout
