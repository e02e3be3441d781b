// Parses and writes values with units.
#pragma once

#include <string_view>

#include "common/base/clock.h"
#include "common/base/error.h"

namespace longshore::api {

// "0.1%" or "0.001". Does not check the range 0..1.
Result<double> ParseShare(std::string_view text);

// Bytes of an amount in Kubernetes notation such as "20Gi"; fractions of a byte are cut. Requires: the text matches
// kQuantity.
int64_t BytesOf(std::string_view quantity);

// RFC 3339 with optional fraction of a second (cut to microseconds), in UTC or with an offset; "" gives TimePoint{}.
Result<TimePoint> ParseTime(std::string_view text);

// One number with one unit of us, ms, s, m or h: "90s" is valid, "1m30s" is refused.
Result<Duration> ParseDuration(std::string_view text);

// The shortest exact form: "30s", "1500ms", "0s".
std::string FormatDuration(Duration duration);
// RFC 3339 in UTC with milliseconds: "2026-11-21T05:23:49.120Z"; "" for TimePoint{}.
std::string FormatTime(TimePoint at);
// "0.1%" from 0.001, with at most four digits after the point.
std::string FormatShare(double share);

}  // namespace longshore::api
