// Which lines of a log a user asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/clock.h"

namespace longshore::cli::logs {

struct Wanted {
  bool follow = false;
  bool previous = false;        // The log of the run before the last restart.
  std::optional<int64_t> tail;  // At most so many of the last lines; nullopt: all.
  std::optional<Duration> since;
};

// Returns the end of a log of our programs: the lines not older than `since` if it is set, and of these the last
// `tail`. A line without a time, for example of a crash, is as old as the line before it. Pure.
std::string_view SelectLines(std::string_view log, const Wanted& wanted, TimePoint now);

}  // namespace longshore::cli::logs
