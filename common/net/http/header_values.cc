#include "common/net/http/header_values.h"

#include <algorithm>
#include <cctype>

#include "common/base/lower_case.h"

namespace longshore::http {

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

bool EqualsIgnoringCase(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, [](char a, char b) { return LowerCase(a) == b; });
}

std::vector<std::string_view> ListOf(std::string_view value) {
  std::vector<std::string_view> list;
  while (!value.empty()) {
    const size_t comma = std::min(value.find(','), value.size());
    const std::string_view element = Trimmed(value.substr(0, comma));
    if (!element.empty()) list.push_back(element);
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
  return list;
}

std::vector<std::string_view> ValuesOf(const Headers& headers, std::string_view name) {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : headers) {
    if (key == name) values.emplace_back(value);
  }
  return values;
}

Coding CodingOf(const Headers& headers) {
  Coding coding = Coding::kNone;
  for (const std::string_view value : ValuesOf(headers, "content-encoding")) {
    for (const std::string_view name : ListOf(value)) {
      if (EqualsIgnoringCase(name, "identity")) continue;
      const bool is_known =
          EqualsIgnoringCase(name, "gzip") || EqualsIgnoringCase(name, "x-gzip") || EqualsIgnoringCase(name, "deflate");
      if (!is_known || coding != Coding::kNone) return Coding::kUnknown;
      coding = Coding::kPacked;
    }
  }
  return coding;
}

}  // namespace longshore::http
