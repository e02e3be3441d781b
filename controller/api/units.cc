#include "controller/api/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <utility>

#include "controller/api/text_format.h"

namespace longshore::api {
namespace {

struct Unit {
  std::string_view name;
  int64_t microseconds;
};
constexpr std::array<Unit, 5> kUnits = {{{"h", 3600000000}, {"m", 60000000}, {"s", 1000000}, {"ms", 1000}, {"us", 1}}};
// A suffix of an amount, and its factor: "m" means a thousandth.
struct Scale {
  std::string_view name;
  double factor;
};
constexpr std::array<Scale, 14> kScales = {{{"", 1},
                                            {"m", 1e-3},
                                            {"k", 1e3},
                                            {"M", 1e6},
                                            {"G", 1e9},
                                            {"T", 1e12},
                                            {"P", 1e15},
                                            {"E", 1e18},
                                            {"Ki", 0x1p10},
                                            {"Mi", 0x1p20},
                                            {"Gi", 0x1p30},
                                            {"Ti", 0x1p40},
                                            {"Pi", 0x1p50},
                                            {"Ei", 0x1p60}}};
constexpr double kDurationMicrosecondsMax = 1e15;  // 31 years, so that sums of a few durations cannot overflow.

}  // namespace

Result<Duration> ParseDuration(std::string_view text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, static_cast<size_t>(text.data() + text.size() - rest));
  for (const Unit& known : kUnits) {
    if (error != std::errc() || unit != known.name || !Matches(std::string(text), kDuration)) continue;
    const double microseconds = number * static_cast<double>(known.microseconds);
    if (!(microseconds >= 0 && microseconds <= kDurationMicrosecondsMax)) break;
    return Duration(std::llround(microseconds));
  }
  return InvalidArgument("\"{}\" is not a duration: write one number with us, ms, s, m or h, as in \"30s\"", text);
}

std::string FormatDuration(Duration duration) {
  const int64_t count = duration.count();
  if (count == 0) return "0s";
  // Minutes and hours are written in seconds, because "90s" and "60s" are easier to compare than "90s" and "1m".
  for (const Unit& unit : {kUnits[2], kUnits[3]}) {
    if (count % unit.microseconds == 0) return fmt::format("{}{}", count / unit.microseconds, unit.name);
  }
  return fmt::format("{}us", count);
}

double RoundedTo(int digits, double number) {
  const double unit = std::pow(10, std::floor(std::log10(number)) + 1 - digits);
  return std::round(number / unit) * unit;
}

Duration DurationOf(double seconds) {
  constexpr double kSecondsMax = 100 * 365 * 86400.0;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(seconds, kSecondsMax)));
}

std::string RoughDuration(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  if (seconds < 90) return fmt::format("{:.0f} s", std::max(1.0, seconds));
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 36 * 3600) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

int64_t BytesOf(std::string_view quantity) {
  double number = 0;
  const auto [rest, error] = std::from_chars(quantity.data(), quantity.data() + quantity.size(), number);
  CHECK(error == std::errc());
  const std::string_view unit(rest, static_cast<size_t>(quantity.data() + quantity.size() - rest));
  const auto scale = std::ranges::find(kScales, unit, &Scale::name);
  CHECK(scale != kScales.end());
  const double bytes = number * scale->factor;
  return bytes >= 0x1p62 ? int64_t{1} << 62 : static_cast<int64_t>(bytes);
}

Result<double> ParseShare(std::string_view text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, static_cast<size_t>(text.data() + text.size() - rest));
  if (error != std::errc() || (unit != "" && unit != "%")) return InvalidArgument("\"{}\" is not a share", text);
  return unit == "%" ? number / 100 : number;
}

std::string FormatShare(double share) {
  std::string digits = fmt::format("{:.4f}", share * 100);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits + "%";
}

std::string FormatTime(TimePoint at) {
  if (at == TimePoint{}) return "";
  const int64_t ms = ToUnixMillis(at);
  const time_t seconds = ms / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec, ms % 1000);
}

Result<TimePoint> ParseTime(std::string_view text) {
  if (text.empty()) return TimePoint{};
  const auto refused = [&] { return InvalidArgument("\"{}\" is not a time such as 2026-11-21T05:23:49.120Z", text); };
  std::tm utc{};
  const std::string copy(text);
  int used = 0;
  const int read = std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &utc.tm_year, &utc.tm_mon, &utc.tm_mday,
                               &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &used);
  if (read != 6 || used == 0) return refused();
  text.remove_prefix(static_cast<size_t>(used));
  Duration fraction{0};
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    int digits = 0;
    for (int64_t unit = 100'000; !text.empty() && text[0] >= '0' && text[0] <= '9'; unit /= 10, ++digits) {
      fraction += Duration((text[0] - '0') * unit);
      text.remove_prefix(1);
    }
    if (digits == 0 || digits > 9) return refused();
  }
  int hours = 0;
  int minutes = 0;
  const bool has_offset = text.size() == 6 && (text[0] == '+' || text[0] == '-');
  if (has_offset && std::sscanf(copy.c_str() + copy.size() - 5, "%2d:%2d", &hours, &minutes) != 2) return refused();
  if (!has_offset && text != "Z") return refused();
  const Duration offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  utc.tm_year -= 1900;
  utc.tm_mon -= 1;
  return TimePoint(std::chrono::seconds(timegm(&utc))) + fraction - (text[0] == '-' ? -offset : offset);
}

}  // namespace longshore::api
