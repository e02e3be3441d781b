// Gives a command to the controller, through the queue in the status of a Model, and waits for the answer.
#pragma once

#include <chrono>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/api/types.h"
#include "controller/cli/command/command_request.h"
#include "controller/store/store.h"

namespace longshore::cli::command {

// Writes the command for the rollout that the request names or that is in the store now, waits for the controller's
// answer and returns it. Changes only the field status.commands, and no command of another user. If no controller takes
// the command in time, withdraws it and returns DeadlineExceeded. If the command disappears again and again without an
// answer, because a controller of an older release rewrites the status, returns FailedPrecondition.
Result<api::CommandAnswer> SendCommand(store::Store& store, const api::Key& model, const CommandRequest& request,
                                       const Clock& clock, std::chrono::milliseconds patience);

}  // namespace longshore::cli::command
