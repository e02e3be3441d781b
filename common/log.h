// Logging: spdlog, one line per event on standard error, names and values in the message.
//
// What goes wrong with every request must not fill the disk: a line has at most kLogLineBytesMax bytes, a second
// kLogLinesPerSecondMax lines; those left out are counted in a line of their own.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

#include "common/error.h"

namespace longshore {

inline constexpr size_t kLogLineBytesMax = 512;
inline constexpr int kLogLinesPerSecondMax = 200;

// Sets the format, the program's name in each line, and the level: "debug", "info", "warning", "error" or "off".
Status InitLog(const std::string& program, const std::string& level);

// From now on, in any thread. InvalidArgument for what is no level; nothing changes then.
Status SetLogLevel(const std::string& level);
std::string LogLevel();

// A foreign text made safe for a log line: control bytes escaped, cut after bytes_max.
std::string ForLog(std::string_view text, size_t bytes_max = 512);

}  // namespace longshore
