// Commands of users. Internal to rollout/.
//
// For each command there are two functions: the first one says why it would be refused, without changing anything; the
// second one executes a command that the first one accepts, and returns what the user should know about it.
// TakeCommands executes a command, and the status offers it to users (Draft::status().accepted_commands), if and only
// if WhyRefused accepts it.
#pragma once

#include <string>

#include "controller/decide/rollout/draft.h"

namespace longshore::rollout {

// Why the command would be refused now; "" if it would be executed.
std::string WhyRefused(const Draft& draft, const api::Command& command);

// Sets status.accepted_commands: the commands that would be executed if a user who sees this status gave them now.
void DescribeCommands(Draft& draft);

std::string WhyNoAbort(const Draft& draft, const api::Command& command);
std::string Abort(Draft& draft, const api::Command& command);

// Returns to the version that served before, or to the one that the command names: at once if it is warm, otherwise by
// a rollout without steps. While a rollout is under way, ends it instead. Is refused if it would go forward to a
// version that an earlier undo has left, unless the command names it.
std::string WhyNoUndo(const Draft& draft, const api::Command& command);
std::string Undo(Draft& draft, const api::Command& command);

// Asks the nodes on which stable is ready to run the golden set now, in place of an earlier request. The results will
// be in status.golden_set.request.
std::string WhyNoValidate(const Draft& draft, const api::Command& command);
std::string ValidateStable(Draft& draft, const api::Command& command);

}  // namespace longshore::rollout
