// Reads files of JSON.
#pragma once

#include <optional>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/json/json.h"

namespace longshore {

// Reads a JSON file that only the program writes. Returns nullopt if it does not exist, and DataLoss, with its path, if
// it is not JSON.
Result<std::optional<Json>> ReadJsonFile(const Path& path);

}  // namespace longshore
