#pragma once

#include <string_view>

namespace longshore {

// Returns the text without the blanks at its beginning and end. `blanks`: the characters that count as blanks.
inline std::string_view Trimmed(std::string_view text, std::string_view blanks = " \t") {
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace longshore
