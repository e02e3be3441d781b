#include "serving-node/tracing/otlp/pairs.h"

#include <charconv>

#include "common/base/trimmed.h"

namespace longshore::tracing::otlp {
namespace {

// Returns the text with %XX decoded. A % without two hexadecimal digits stands for itself.
std::string Decoded(std::string_view text) {
  std::string decoded;
  for (size_t at = 0; at < text.size(); ++at) {
    unsigned char byte = 0;
    const char* digits = text.data() + at + 1;
    const bool is_escape =
        text[at] == '%' && at + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    decoded += is_escape ? static_cast<char>(byte) : text[at];
    if (is_escape) at += 2;
  }
  return decoded;
}

}  // namespace

Result<Pairs> ParsePairs(std::string_view text) {
  Pairs pairs;
  size_t number = 0;
  while (!text.empty()) {
    ++number;
    const size_t comma = text.find(',');
    const std::string_view entry = Trimmed(text.substr(0, comma));
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    if (entry.empty()) continue;
    const size_t equals = entry.find('=');
    const std::string_view name = Trimmed(entry.substr(0, equals));
    if (equals == entry.npos || name.empty()) return InvalidArgument("entry {} of the list is not NAME=VALUE", number);
    pairs.emplace_back(std::string(name), Decoded(Trimmed(entry.substr(equals + 1))));
  }
  return pairs;
}

}  // namespace longshore::tracing::otlp
