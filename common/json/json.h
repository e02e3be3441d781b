// The JSON library for everything except request bodies, with conversions of its exceptions to errors.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace longshore {

// Keeps the order of keys, so that the output has the order of the schema.
using Json = nlohmann::ordered_json;

// Returns InvalidArgument, with the byte offset of the problem, if the text is not JSON.
Result<Json> ParseJson(std::string_view text);

// Returns the text of `json`: on one line, or indented by `indent` spaces per level if `indent` is not negative. Never
// throws for a string that is not valid UTF-8: U+FFFD replaces the invalid bytes. Use it instead of Json::dump, which
// throws, for anything that may hold text from outside the program (a node's message, a field of a manifest).
std::string DumpJson(const Json& json, int indent = -1);

}  // namespace longshore
