// The keys of a map without an order, such as a map of Protocol Buffers, for texts and lists that must be stable.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace longshore {

// Returns the keys in ascending order. They refer to the map. Requires: they are strings.
template <typename Map>
std::vector<std::string_view> SortedKeys(const Map& map) {
  std::vector<std::string_view> keys;
  keys.reserve(map.size());
  for (const auto& [key, unused] : map) keys.emplace_back(key);
  std::ranges::sort(keys);
  return keys;
}

}  // namespace longshore
