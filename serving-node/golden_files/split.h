// Splits the values of flags of the form NAME=VALUE,VALUE.
#pragma once

#include <string>
#include <vector>

namespace longshore::golden_files {

struct Assignment {
  std::string name;
  std::vector<std::string> values;
};

// Requires: the text has a "=".
inline Assignment SplitAssignment(const std::string& text) {
  const size_t at = text.find('=');
  Assignment split{.name = text.substr(0, at), .values = {}};
  for (size_t begin = at + 1; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    split.values.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return split;
}

}  // namespace longshore::golden_files
