#include "common/json/path.h"

#include <charconv>

namespace longshore {
namespace {

const Json* ElementOf(const Json& json, std::string_view key) {
  if (json.is_object()) {
    const auto found = json.find(std::string(key));
    return found == json.end() ? nullptr : &*found;
  }
  size_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  const bool is_index = error == std::errc() && end == key.data() + key.size();
  return json.is_array() && is_index && index < json.size() ? &json[index] : nullptr;
}

}  // namespace

const Json& At(const Json& json, std::initializer_list<std::string_view> path) {
  static const Json kNothing;
  const Json* at = &json;
  for (const std::string_view key : path) {
    at = ElementOf(*at, key);
    if (at == nullptr) return kNothing;
  }
  return *at;
}

std::string TextAt(const Json& json, std::initializer_list<std::string_view> path) {
  const Json& value = At(json, path);
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace longshore
