// What documents of others hold, whatever form they have.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "common/json/json.h"

namespace longshore {

// What stands at the end of a path of keys; of a list "0" is the first. Null when there is nothing.
const Json& At(const Json& json, std::initializer_list<std::string_view> path);

// The text there; "" when there is none.
std::string TextAt(const Json& json, std::initializer_list<std::string_view> path);

}  // namespace longshore
