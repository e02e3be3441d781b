// Logging: spdlog, one line per event on standard error, names and values in the message.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

#include "common/error.h"

namespace longshore {

// Sets the format, the program's name in each line, and the level: "debug", "info", "warning" or "error".
Status InitLog(const std::string& program, const std::string& level);

// A foreign text made safe for a log line: control bytes escaped, cut after bytes_max.
std::string ForLog(std::string_view text, size_t bytes_max = 512);

}  // namespace longshore
