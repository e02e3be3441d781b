#include "controller/cli/logs/lines.h"

#include <algorithm>

#include "controller/api/units.h"

namespace longshore::cli::logs {
namespace {

// The beginning of the last `count` lines.
std::string_view LastLines(std::string_view log, int64_t count) {
  if (count == 0) return {};
  size_t begin = log.size();
  if (begin > 0 && log.back() == '\n') --begin;
  for (; begin > 0; --begin) {
    if (log[begin - 1] == '\n' && --count == 0) break;
  }
  return log.substr(begin);
}

std::string_view LinesSince(std::string_view log, TimePoint first) {
  for (size_t begin = 0; begin < log.size();) {
    const size_t end = std::min(log.find('\n', begin), log.size());
    const std::string_view line = log.substr(begin, end - begin);
    const auto at = api::ParseTime(line.substr(0, line.find(' ')));
    if (at && *at >= first) return log.substr(begin);
    begin = end + 1;
  }
  return {};
}

}  // namespace

std::string_view SelectLines(std::string_view log, const Wanted& wanted, TimePoint now) {
  if (wanted.since) log = LinesSince(log, now - *wanted.since);
  return wanted.tail ? LastLines(log, *wanted.tail) : log;
}

}  // namespace longshore::cli::logs
