// The parts of header values (RFC 9110, section 5.6).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/net/http/types.h"

namespace longshore::http {

std::string_view Trimmed(std::string_view text);

// Compares the text with a word in lower case.
bool EqualsIgnoringCase(std::string_view text, std::string_view word);

// Returns the elements of a list, "gzip, deflate;q=0.5", without the blanks around them and without empty ones.
std::vector<std::string_view> ListOf(std::string_view value);

// Returns all values of the header. Requires: name in lower case.
std::vector<std::string_view> ValuesOf(const Headers& headers, std::string_view name);

// How the body of a request is coded (Content-Encoding). kPacked: gzip or deflate.
enum class Coding { kNone, kPacked, kUnknown };

// Returns kUnknown also for several codings, one after the other.
Coding CodingOf(const Headers& headers);

}  // namespace longshore::http
