// Units as people write them.
#pragma once

#include <string_view>

#include "common/clock.h"
#include "common/error.h"

namespace longshore::api {

// "0.1%" or "0.001"; not checked against 0..1.
Result<double> ParseShare(std::string_view text);

// "20Gi", as Kubernetes writes amounts of bytes; a part of a byte is cut. Requires: the text has the form of kQuantity.
int64_t BytesOf(std::string_view quantity);

// RFC 3339, with any fraction of a second or none (to the microsecond), in UTC or with an offset; "" is TimePoint{}.
Result<TimePoint> ParseTime(std::string_view text);

}  // namespace longshore::api
