// Verbs that separate programs implement: `longshore model` and `longshore golden` run longshore-model. Therefore this
// program does not link the libraries that only those programs need.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace longshore::cli {

// If the first argument is a verb that a separate program implements, replaces this process by that program (exec),
// which gets all further arguments. Looks for the program in the folder of this one, then in the PATH. Returns only if
// the argument is not such a verb (nullopt) or the program could not be started; NotFound names the places that were
// searched.
std::optional<Error> RunCompanion(int argc, char** argv);

inline constexpr const char* kModelProgram = "longshore-model";

// Replaces this process by the program, which is sought as above. Returns only if it could not be started.
Error RunProgram(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace longshore::cli
