// Which directory somebody means who names a model.
#pragma once

#include "common/error.h"
#include "common/file.h"

namespace longshore::inspect {

// The directory itself when it is a version, else the newest version below it. NotFound when there is neither.
Result<Path> FindVersion(const Path& dir);

}  // namespace longshore::inspect
