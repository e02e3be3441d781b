// Asks a person before the command undo leaves a good version by mistake.
#pragma once

#include <iosfwd>

#include "common/base/error.h"
#include "controller/api/types.h"
#include "controller/cli/command/command_request.h"
#include "controller/store/store.h"

namespace longshore::cli::command {

// Asks if the newest version of the Model has been rolled back already, so that undo would leave a version that serves
// well. Returns the state that the question was about, or FailedPrecondition unless the answer is "y" or "yes".
Result<SeenRollout> ConfirmUndo(store::Store& store, const api::Key& key, std::istream& in, std::ostream& out);

}  // namespace longshore::cli::command
