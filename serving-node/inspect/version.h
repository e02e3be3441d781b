// Finds the version directory that a path on the command line refers to.
#pragma once

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore::inspect {

// Returns the directory itself if it is a version, otherwise the newest version in it; NotFound if it has no version.
Result<Path> FindVersion(const Path& dir);

}  // namespace longshore::inspect
