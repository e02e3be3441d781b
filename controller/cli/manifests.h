// Reads the manifests that the options name.
#pragma once

#include <vector>

#include "common/base/error.h"
#include "controller/api/parse.h"
#include "controller/cli/options.h"

namespace longshore::cli {

// Returns the objects of all files in their order. Returns InvalidArgument, and no objects, if a manifest is wrong, if
// two files define the same object, or if the files define no object at all.
Result<std::vector<api::ParsedObject>> ReadManifests(const Options& options, api::Home home);

}  // namespace longshore::cli
