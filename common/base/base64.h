// Base64 (RFC 4648, the standard alphabet).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace longshore {

std::string ToBase64(std::string_view bytes);

// Decodes Base64 text, also if its padding is missing. Returns nullopt if the text is not valid Base64.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace longshore
