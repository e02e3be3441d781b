#include "controller/decide/traffic/traffic.h"

#include <algorithm>
#include <cmath>

#include "controller/api/units.h"

namespace longshore::traffic {
namespace {

constexpr Duration kDay = std::chrono::hours(24);

double Rounded(double rate) { return rate > 0 ? api::RoundedTo(3, rate) : 0; }

bool IsAbout(double rate, double other) {
  constexpr double kChange = 0.1;
  return std::abs(rate - other) <= kChange * other;
}

}  // namespace

Duration CountFor(const api::Traffic& before) {
  return std::clamp<Duration>(before.over, std::chrono::minutes(1), kCountForMax);
}

std::optional<api::Traffic> Record(const api::Traffic& before, const Counted& from, const Counted& to) {
  const Duration counted = std::min<Duration>(to.at - from.at, kDay);
  const double seconds = std::chrono::duration<double>(to.at - from.at).count();
  const double per_second = static_cast<double>(to.requests - from.requests) / seconds;
  const double errors_per_second = static_cast<double>(to.errors - from.errors) / seconds;
  api::Traffic record{.at = to.at, .over = std::min<Duration>(before.over + counted, kDay)};
  const double weight = std::chrono::duration<double>(counted) / std::chrono::duration<double>(record.over);
  const auto mean = [&](double old, double now) { return old + weight * (now - old); };
  const double requests = mean(before.requests_per_second, per_second);
  if (requests <= 0) return std::nullopt;
  record.requests_per_second = Rounded(requests);
  record.error_rate = Rounded(mean(before.requests_per_second * before.error_rate, errors_per_second) / requests);
  const bool is_still_true = before.over == kDay && IsAbout(record.requests_per_second, before.requests_per_second) &&
                             IsAbout(record.error_rate, before.error_rate);
  return is_still_true ? std::nullopt : std::optional(record);
}

bool WentBack(const Counted& earlier, const Counted& later) {
  return later.requests < earlier.requests || later.errors < earlier.errors || later.at < earlier.at;
}

std::optional<api::Traffic> Meter::Count(const api::Traffic& before, const Counted& now) {
  if (!from_ || WentBack(*last_, now)) from_ = now;
  last_ = now;
  const Duration counted = now.at - from_->at;
  const Duration every = CountFor(before);
  due_in_ = counted < every ? every - counted : std::clamp<Duration>(counted, every, kCountForMax);
  if (counted < every) return std::nullopt;
  const auto record = Record(before, *from_, now);
  // A record that has been true for a whole day says nothing about the days before.
  if (!record && counted >= kDay) from_ = now;
  return record;
}

}  // namespace longshore::traffic
