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

// The text of `json`: on one line, or indented by `indent` spaces a level if `indent` is not negative. Never throws for
// a string that is not valid UTF-8: U+FFFD replaces what is not valid. Anything that may hold text from outside the
// program (a node's message, a field of a manifest) is written by this and not by Json::dump, which throws.
std::string DumpJson(const Json& json, int indent = -1);

// What a file of our own holds: nullopt when it is not there, DataLoss naming it when it is not JSON.
Result<std::optional<Json>> ReadJsonFile(const Path& path);

}  // namespace longshore
