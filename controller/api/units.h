// Parses and writes values with units.
#pragma once

#include <string_view>

#include "common/base/clock.h"
#include "common/base/error.h"

namespace longshore::api {

// Parses "0.1%" or "0.001". Does not check that the share is from 0 to 1.
Result<double> ParseShare(std::string_view text);

// Returns the bytes of an amount in Kubernetes notation such as "20Gi", rounded down to whole bytes. Requires: the text
// matches kQuantity.
int64_t BytesOf(std::string_view quantity);

// Parses a time in RFC 3339, with an optional fraction of a second (cut to microseconds), in UTC or with an offset.
// Returns TimePoint{} for "".
Result<TimePoint> ParseTime(std::string_view text);

// Parses one number with one unit of us, ms, s, m or h: "90s" is valid, "1m30s" is not.
Result<Duration> ParseDuration(std::string_view text);

// Returns the duration in the largest unit of s, ms and us that gives a whole number: "30s", "1500ms", "0s".
std::string FormatDuration(Duration duration);
// Returns the number, which must be above 0, with so many digits: 13712 with two digits is 14000.
double RoundedTo(int digits, double number);
// Returns so many seconds, at most a hundred years.
Duration DurationOf(double seconds);
// Returns the duration rounded to one unit, for people: "40 s", "12 min", "7 h", "3 days".
std::string RoughDuration(Duration duration);
// Returns the time in RFC 3339, in UTC with milliseconds: "2026-11-21T05:23:49.120Z". Returns "" for TimePoint{}.
std::string FormatTime(TimePoint at);
// Returns "0.1%" for 0.001, with at most four digits after the point.
std::string FormatShare(double share);

}  // namespace longshore::api
