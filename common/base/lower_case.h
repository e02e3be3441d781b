#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace longshore {

// Replaces A-Z by a-z; all other bytes stay, whatever the locale is.
constexpr char LowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The same for each byte of the text.
inline std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return LowerCase(c); });
  return lower;
}

}  // namespace longshore
