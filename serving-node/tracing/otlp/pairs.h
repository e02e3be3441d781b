// Lists of names and values as OpenTelemetry's environment variables have them: "key1=value1,key2=value2". Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"

namespace longshore::tracing::otlp {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Reads the list. Blanks around names and values do not count, and %XX in a value stands for a byte. InvalidArgument
// names the position of the wrong entry, but not its text, which may be a secret.
Result<Pairs> ParsePairs(std::string_view text);

}  // namespace longshore::tracing::otlp
