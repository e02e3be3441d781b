// Reads files of JSON.
#pragma once

#include <optional>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/json/json.h"

namespace longshore {

// Reads a file of the program. Returns nullopt if it does not exist; DataLoss with its path if it is not JSON.
Result<std::optional<Json>> ReadJsonFile(const Path& path);

}  // namespace longshore
