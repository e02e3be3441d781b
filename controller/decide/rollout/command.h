// Commands of users. Internal to rollout/.
#pragma once

#include <string>

#include "controller/decide/rollout/draft.h"

namespace longshore::rollout {

// Whether a command was executed, and what the user should know about it: the reason if it was not executed.
struct Outcome {
  bool is_done = false;
  std::string message;
};
inline Outcome Done(std::string message = "") { return {true, std::move(message)}; }
inline Outcome Refused(std::string why) { return {false, std::move(why)}; }

Outcome Abort(Draft& draft);

// Returns to the version that served before, or to the one that the command names: at once if it is warm, otherwise by
// a rollout without steps. While a rollout is under way, ends it instead. Refuses to go forward to a version that an
// earlier undo has left, unless the command names it.
Outcome Undo(Draft& draft, const api::Command& command);

// Asks the nodes on which stable is ready to run the golden set now, in place of an earlier request. The results will
// be in status.golden_set.request.
Outcome ValidateStable(Draft& draft, const api::Command& command);

}  // namespace longshore::rollout
