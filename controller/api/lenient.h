// Reads the statuses of objects. The controller wrote them itself, so a field that is absent or has another type gets
// its default instead of an error. Internal to api/.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "common/base/error.h"
#include "common/json/json.h"
#include "controller/api/types.h"

namespace longshore::api {

template <typename T>
void Get(const Json& json, const char* key, T& out) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || found == json.end()) return;
  if constexpr (std::is_same_v<T, bool>) {
    if (found->is_boolean()) out = found->template get<bool>();
  } else if constexpr (std::is_arithmetic_v<T>) {
    if (found->is_number()) out = found->template get<T>();
  } else {
    if (found->is_string()) out = found->template get<T>();
  }
}

void GetTime(const Json& json, const char* key, TimePoint& out);

// Returns the value of the key; a null value if the key is absent.
const Json& Child(const Json& json, const char* key);

// Reads all entries of an array; returns an empty list if there is no array.
template <typename T, typename Read>
std::vector<T> GetList(const Json& json, const char* key, Read read) {
  std::vector<T> out;
  const Json& list = Child(json, key);
  if (!list.is_array()) return out;
  for (const Json& item : list) out.push_back(read(item));
  return out;
}

template <typename T, typename Write>
Json ListToJson(const std::vector<T>& list, Write write) {
  Json json = Json::array();
  for (const T& item : list) json.push_back(write(item));
  return json;
}

Json ToJson(const Condition& condition);
Condition ConditionFrom(const Json& json);

// Returns DataLoss if the status is neither a mapping nor null.
Status CheckIsStatus(const Json& status);

}  // namespace longshore::api
