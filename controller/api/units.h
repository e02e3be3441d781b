// Parses values with units.
#pragma once

#include <string_view>

#include "common/clock.h"
#include "common/error.h"

namespace longshore::api {

// "0.1%" or "0.001". Does not check the range 0..1.
Result<double> ParseShare(std::string_view text);

// Bytes of an amount in Kubernetes notation such as "20Gi"; fractions of a byte are cut. Requires: the text matches
// kQuantity.
int64_t BytesOf(std::string_view quantity);

// RFC 3339 with optional fraction of a second (cut to microseconds), in UTC or with an offset; "" gives TimePoint{}.
Result<TimePoint> ParseTime(std::string_view text);

}  // namespace longshore::api
