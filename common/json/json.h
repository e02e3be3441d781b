// The one JSON library outside request bodies, under the project's own name.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/error.h"

namespace longshore {

// Keeps the order of keys, so that what is written reads like the schema.
using Json = nlohmann::ordered_json;

// InvalidArgument with the byte offset when the text is not JSON.
Result<Json> ParseJson(std::string_view text);

}  // namespace longshore
