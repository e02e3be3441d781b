// Verbs that separate programs implement: `longshore model` runs longshore-model. This program then need not link the
// libraries of the other.
#pragma once

#include <optional>

#include "common/base/error.h"

namespace longshore::cli {

// If the first argument is such a verb, replaces this process by its program (exec), which gets all further arguments.
// The program is searched in the folder of this one, then in the PATH. Returns only if the verb is not such a verb
// (nullopt) or its program could not be started; NotFound names the places that were searched.
std::optional<Error> RunCompanion(int argc, char** argv);

}  // namespace longshore::cli
