// The command "check-version": whether a version would pass its rehearsal. The program longshore-model runs the
// version; this program finds the rules, and passes them on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "controller/api/types.h"
#include "controller/cli/options.h"

namespace longshore::cli {

// Returns the arguments for longshore-model. With `model` the rules are those of its spec, and the version that serves
// is that of its status; options on the command line replace them. The golden set is sought in the Model's source, and
// then next to the version. NotFound if it is in neither; the message names both.
Result<std::vector<std::string>> CheckVersionArguments(const CheckVersionOptions& options,
                                                       const std::optional<api::Model>& model);

// Reads the Model of the options, from a manifest or from its place, and replaces this process by longshore-model.
// Returns only if that fails.
Error CheckVersion(const Options& options);

}  // namespace longshore::cli
