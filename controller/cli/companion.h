// Verbs that are programs of their own, as `longshore model` is longshore-model: what they link, this program need not.
#pragma once

#include <optional>

#include "common/error.h"

namespace longshore::cli {

// Where the first argument is such a verb, replaces this process by its program, which lies beside this one or in the
// PATH and gets all further arguments; input, output and exit status are its own from then on. Returns only when the
// verb is none of these (nullopt), or its program could not be started: NotFound says where it was looked for.
std::optional<Error> RunCompanion(int argc, char** argv);

}  // namespace longshore::cli
