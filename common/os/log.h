// Logging with spdlog: one line per event on standard error, with names and values in the message.
//
// An error that repeats with every request must not fill the disk: a line has at most kLogLineBytesMax bytes, and at
// most kLogLinesPerSecondMax lines are written per second. A separate line gives the number of dropped lines.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

#include "common/base/error.h"

namespace longshore {

inline constexpr size_t kLogLineBytesMax = 512;
inline constexpr int kLogLinesPerSecondMax = 200;

// Sets the format, the program's name in each line, and the level: "debug", "info", "warning", "error" or "off".
Status InitLog(const std::string& program, const std::string& level);

// Changes the level of all threads immediately. Returns InvalidArgument, and changes nothing, if the level is unknown.
Status SetLogLevel(const std::string& level);
std::string LogLevel();

// Makes text from outside the program safe for a log line: escapes control bytes, and cuts the text after bytes_max
// bytes.
std::string ForLog(std::string_view text, size_t bytes_max = 512);

}  // namespace longshore
