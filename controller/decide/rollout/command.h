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

}  // namespace longshore::rollout
