// Access to JSON documents of unknown structure.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "common/json/json.h"

namespace longshore {

// Returns the value at a path of keys; "0" is the first element of a list. Returns null if the path does not exist.
const Json& At(const Json& json, std::initializer_list<std::string_view> path);

// Returns the string at the path; "" if the value is not a string.
std::string TextAt(const Json& json, std::initializer_list<std::string_view> path);

}  // namespace longshore
