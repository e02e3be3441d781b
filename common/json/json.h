// The one JSON library outside request bodies, under the project's own name.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "common/error.h"
#include "common/file.h"

namespace longshore {

// Keeps the order of keys, so that what is written reads like the schema.
using Json = nlohmann::ordered_json;

// InvalidArgument with the byte offset when the text is not JSON.
Result<Json> ParseJson(std::string_view text);

// What a file of our own holds: nullopt when it is not there, DataLoss naming it when it is not JSON.
Result<std::optional<Json>> ReadJsonFile(const Path& path);

}  // namespace longshore
